//! The tests of callgate-schema, one module per family of rules.

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod derive;
#[cfg(test)]
mod dsl;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod jschema;
#[cfg(test)]
mod json;
#[cfg(test)]
mod pygen;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod tsgen;
#[cfg(test)]
mod vectors;
