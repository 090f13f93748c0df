//! The timers of a program.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use rquickjs::{Function, Value};

/// A program that has this many timers waiting is out of control.
const MOST: usize = 100_000;

/// Timers by the moment they are due, and by their numbers.
#[derive(Default)]
pub(super) struct Timers<'js> {
    due: BTreeMap<(Instant, u32), Timer<'js>>,
    moments: HashMap<u32, Instant>,
    last: u32,
}

pub(super) struct Timer<'js> {
    pub(super) callback: Function<'js>,
    /// An array.
    pub(super) arguments: Value<'js>,
    period: Option<Duration>,
}

impl<'js> Timers<'js> {
    /// Adds a timer, unless there are too many.
    pub(super) fn add(
        &mut self,
        callback: Function<'js>,
        arguments: Value<'js>,
        milliseconds: f64,
        repeat: bool,
    ) -> Option<u32> {
        if self.due.len() >= MOST {
            return None;
        }
        self.last = self.last.wrapping_add(1);
        let delay = delay(milliseconds);
        let period = repeat.then_some(delay.max(Duration::from_millis(1)));
        self.insert(self.last, Timer { callback, arguments, period }, delay);
        Some(self.last)
    }

    fn insert(&mut self, id: u32, timer: Timer<'js>, delay: Duration) {
        let moment = Instant::now() + delay;
        self.moments.insert(id, moment);
        self.due.insert((moment, id), timer);
    }

    /// Removes a timer, if it is there.
    pub(super) fn remove(&mut self, id: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "other numbers name no timer"
        )]
        let id = id as u32;
        if let Some(moment) = self.moments.remove(&id) {
            self.due.remove(&(moment, id));
        }
    }

    /// When the next timer is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((moment, _), _)| *moment)
    }

    /// Takes the next timer if it is due. One that repeats is due again later.
    pub(super) fn take_due(&mut self) -> Option<(Function<'js>, Value<'js>)> {
        self.next().filter(|moment| *moment <= Instant::now())?;
        let ((_, id), timer) = self.due.pop_first()?;
        self.moments.remove(&id);
        let taken = (timer.callback.clone(), timer.arguments.clone());
        if let Some(period) = timer.period {
            self.insert(id, timer, period);
        }
        Some(taken)
    }

    pub(super) fn clear(&mut self) {
        self.due.clear();
        self.moments.clear();
    }
}

/// A delay as browsers read it: not a number is none, too long is none.
fn delay(milliseconds: f64) -> Duration {
    const LONGEST: f64 = 2_147_483_647.0;
    if (0.0..=LONGEST).contains(&milliseconds) {
        Duration::from_secs_f64(milliseconds / 1_000.0)
    } else {
        Duration::ZERO
    }
}
