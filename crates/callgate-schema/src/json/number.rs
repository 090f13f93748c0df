//! Numbers: whole ones within 64 bits are kept exactly, all others as doubles.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::{ValueError, ValueErrorKind};

/// A JSON number: a whole number within `i64` or `u64`, or another finite double.
///
/// Equal values have one representation: `1`, `1.0` and `1e0` are the same. There is no NaN, no infinity and no
/// negative zero.
///
/// ```
/// use callgate_schema::Number;
///
/// assert_eq!(Number::from_f64(1.0), Some(Number::from(1)));
/// assert_eq!(Number::from_f64(-0.0), None);
/// assert_eq!(Number::from(u64::MAX).to_string(), "18446744073709551615");
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Number(Repr);

#[derive(Clone, Copy, PartialEq)]
enum Repr {
    /// Everything that fits `i64`.
    Int(i64),
    /// Above `i64::MAX` only.
    UInt(u64),
    /// Not integral, or beyond `u64` and `i64`; finite and never −0.
    Float(f64),
}

/// 2^63, the first double above `i64::MAX`.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
/// 2^64, the first double above `u64::MAX`.
const TWO_64: f64 = 18_446_744_073_709_551_616.0;
/// From here on ECMAScript prints an exponent.
const FIRST_WITH_EXPONENT: f64 = 1e21;
/// The longest double without exponent has 309 digits and a sign.
const MOST_EXACT_DIGITS: usize = 310;

/// Why a number token or a double cannot be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberFault {
    NegativeZero,
    Inexact,
    TooLarge,
    NotANumber,
}

impl NumberFault {
    /// What is wrong with the number spelt `token`, and the way out.
    pub(crate) fn message(self, token: &str) -> String {
        let token = super::error::shorten(token);
        match self {
            Self::NegativeZero => {
                format!("`{token}` is negative zero, which has no lossless form; write 0")
            }
            Self::Inexact => {
                format!(
                    "`{token}` is an integer that neither 64 bits nor a double hold exactly; send it as a string"
                )
            }
            Self::TooLarge => {
                format!("`{token}` is beyond the range of a double; send it as a string")
            }
            Self::NotANumber => format!("`{token}` is not a JSON number; use null or a string"),
        }
    }
}

impl Number {
    /// The double as a number; `None` for NaN, infinities and negative zero, which JSON cannot say losslessly.
    pub fn from_f64(value: f64) -> Option<Self> {
        Self::checked(value).ok()
    }

    pub(crate) fn checked(value: f64) -> Result<Self, NumberFault> {
        if value.is_nan() {
            Err(NumberFault::NotANumber)
        } else if value.is_infinite() {
            Err(NumberFault::TooLarge)
        } else if value == 0.0 && value.is_sign_negative() {
            Err(NumberFault::NegativeZero)
        } else {
            Ok(Self(canonical(value)))
        }
    }

    /// Reads a token that has the form of a JSON number.
    ///
    /// Without fraction and exponent it must fit 64 bits or be a double exactly; with one it is the nearest double.
    pub(crate) fn from_token(token: &str) -> Result<Self, NumberFault> {
        if token.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            return Self::checked(token.parse().map_err(|_| NumberFault::NotANumber)?);
        }
        if token == "-0" {
            return Err(NumberFault::NegativeZero);
        }
        if let Ok(value) = token.parse::<i64>() {
            return Ok(value.into());
        }
        if let Ok(value) = token.parse::<u64>() {
            return Ok(value.into());
        }
        Self::from_long_integer(token)
    }

    /// Beyond 64 bits: only what a double holds exactly.
    fn from_long_integer(token: &str) -> Result<Self, NumberFault> {
        if token.len() > MOST_EXACT_DIGITS {
            return Err(NumberFault::TooLarge);
        }
        let value: f64 = token.parse().map_err(|_| NumberFault::NotANumber)?;
        let number = Self::checked(value)?;
        if format!("{value:.0}") == token { Ok(number) } else { Err(NumberFault::Inexact) }
    }

    /// The value as `i64`, if it fits.
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Repr::Int(value) => Some(value),
            Repr::UInt(_) | Repr::Float(_) => None,
        }
    }

    /// The value as `u64`, if it fits.
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Repr::Int(value) => value.try_into().ok(),
            Repr::UInt(value) => Some(value),
            Repr::Float(_) => None,
        }
    }

    /// The nearest double. Integers beyond ±2^53 may be rounded; [`Number::as_exact_f64`] tells.
    #[expect(clippy::cast_precision_loss, reason = "documented: the nearest double")]
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Repr::Int(value) => value as f64,
            Repr::UInt(value) => value as f64,
            Repr::Float(value) => value,
        }
    }

    /// The value as a double, if that double is exactly this number.
    ///
    /// ```
    /// use callgate_schema::Number;
    ///
    /// assert_eq!(Number::from(1_u64 << 60).as_exact_f64(), Some(1_152_921_504_606_846_976.0));
    /// assert_eq!(Number::from(9_007_199_254_740_993_u64).as_exact_f64(), None);
    /// ```
    pub fn as_exact_f64(self) -> Option<f64> {
        let value = self.as_f64();
        (canonical(value) == self.0).then_some(value)
    }

    /// Whether it has no fraction; `4.0` and `1e300` are integers too.
    pub fn is_integer(self) -> bool {
        match self.0 {
            Repr::Int(_) | Repr::UInt(_) => true,
            Repr::Float(value) => value.fract() == 0.0,
        }
    }
}

/// The one representation of a finite double that is not −0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the ranges are checked"
)]
fn canonical(value: f64) -> Repr {
    if value.fract() != 0.0 {
        Repr::Float(value)
    } else if (-TWO_63..TWO_63).contains(&value) {
        Repr::Int(value as i64)
    } else if (TWO_63..TWO_64).contains(&value) {
        Repr::UInt(value as u64)
    } else {
        Repr::Float(value)
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Repr::Int(value) => value.hash(state),
            Repr::UInt(value) => value.hash(state),
            Repr::Float(value) => value.to_bits().hash(state),
        }
    }
}

/// By value, exactly: no integer is rounded for the comparison.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(&b),
            (Repr::UInt(a), Repr::UInt(b)) => a.cmp(&b),
            (Repr::Int(_), Repr::UInt(_)) => Ordering::Less,
            (Repr::UInt(_), Repr::Int(_)) => Ordering::Greater,
            (Repr::Float(a), Repr::Float(b)) => a.total_cmp(&b),
            (Repr::Int(a), Repr::Float(b)) => compare_whole(i128::from(a), b),
            (Repr::UInt(a), Repr::Float(b)) => compare_whole(i128::from(a), b),
            (Repr::Float(a), Repr::Int(b)) => compare_whole(i128::from(b), a).reverse(),
            (Repr::Float(a), Repr::UInt(b)) => compare_whole(i128::from(b), a).reverse(),
        }
    }
}

/// A whole number within 64 bits against a finite double.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a double beyond i128 saturates, which keeps the order"
)]
fn compare_whole(whole: i128, float: f64) -> Ordering {
    whole.cmp(&(float.trunc() as i128)).then_with(|| 0.0_f64.total_cmp(&float.fract()))
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Digits, as ECMAScript prints them; integers below 10^21 always with all their digits.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Int(value) => value.fmt(f),
            Repr::UInt(value) => value.fmt(f),
            // The shortest digits padded with zeros would be another integer when read back.
            Repr::Float(value) if value.fract() == 0.0 && value.abs() < FIRST_WITH_EXPONENT => {
                write!(f, "{value:.0}")
            }
            Repr::Float(value) => f.write_str(ryu_js::Buffer::new().format_finite(value)),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<f64> for Number {
    type Error = ValueError;
    fn try_from(value: f64) -> Result<Self, ValueError> {
        Self::checked(value).map_err(|fault| {
            ValueError::new(ValueErrorKind::Number, fault.message(&value.to_string()))
        })
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(i64::try_from(value).map_or(Repr::UInt(value), Repr::Int))
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        (value as u64).into()
    }
}

impl From<isize> for Number {
    fn from(value: isize) -> Self {
        (value as i64).into()
    }
}

macro_rules! from_small {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                Self(Repr::Int(value.into()))
            }
        }
    )*};
}
from_small!(i8 i16 i32 i64 u8 u16 u32);
