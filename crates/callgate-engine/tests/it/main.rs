//! Tests of the program engines, through their public interface.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod preflight;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod python;
#[cfg(test)]
mod runtime;
#[cfg(test)]
mod strip;
#[cfg(test)]
mod support;
#[cfg(test)]
mod traps;
#[cfg(test)]
mod tsrt;
#[cfg(test)]
mod worker;
