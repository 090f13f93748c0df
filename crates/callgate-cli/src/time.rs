//! Dates for people and for file names, and durations.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callgate::Json;

/// Now, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A moment of UTC, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    millisecond: u64,
}

impl Moment {
    /// The civil date of a number of milliseconds since 1970.
    ///
    /// Years are counted from March, so that the leap day is the last of a year and every 400 years are alike.
    fn of(ms: u64) -> Self {
        const DAYS_TO_1970: u64 = 719_468;
        let days = ms / 86_400_000 + DAYS_TO_1970;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: ms / 3_600_000 % 24,
            minute: ms / 60_000 % 60,
            second: ms / 1_000 % 60,
            millisecond: ms % 1_000,
        }
    }
}

/// `2026-12-01 15:04:05 UTC`
pub(crate) fn readable(ms: u64) -> String {
    let Moment { year, month, day, hour, minute, second, .. } = Moment::of(ms);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// `20261201-150405.678`: names that sort by time.
pub(crate) fn sortable(ms: u64) -> String {
    let Moment { year, month, day, hour, minute, second, millisecond } = Moment::of(ms);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}.{millisecond:03}")
}

/// `0.4 ms`, `12 ms`, `3.2 s`, `4 min 10 s`
pub(crate) fn duration(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1_000.0;
    match duration.as_millis() {
        ..10 => format!("{ms:.1} ms"),
        10..10_000 => format!("{ms:.0} ms"),
        10_000..120_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ => format!("{} min {} s", duration.as_secs() / 60, duration.as_secs() % 60),
    }
}

/// Milliseconds to a tenth, for programs.
pub(crate) fn json_ms(duration: Duration) -> Json {
    let tenths = u64::try_from(duration.as_micros() / 100).unwrap_or(u64::MAX);
    let parsed = Json::parse(&format!("{}.{}", tenths / 10, tenths % 10));
    parsed.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_of_the_civil_calendar() {
        let shown = [
            0,
            951_782_399_999,
            951_782_400_000,
            1_709_164_800_000,
            1_796_137_445_678,
            4_107_542_400_000,
        ];
        assert_eq!(
            shown.map(readable),
            [
                "1970-01-01 00:00:00 UTC",
                "2000-02-28 23:59:59 UTC",
                "2000-02-29 00:00:00 UTC",
                "2024-02-29 00:00:00 UTC",
                "2026-12-01 15:04:05 UTC",
                "2100-03-01 00:00:00 UTC",
            ]
        );
        assert_eq!(sortable(1_796_137_445_678), "20261201-150405.678");
    }

    #[test]
    fn durations_are_as_exact_as_a_person_cares() {
        let shown = [0, 449, 9_999, 12_400, 9_999_900, 10_000_000, 250_000_000];
        let shown = shown.map(|us| duration(Duration::from_micros(us)));
        assert_eq!(
            shown,
            ["0.0 ms", "0.4 ms", "10.0 ms", "12 ms", "10000 ms", "10.0 s", "4 min 10 s"]
        );
    }
}
