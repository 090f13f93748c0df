//! The gateway between fake servers and raw clients.

#[cfg(test)]
mod support;

#[cfg(test)]
mod arguments;
#[cfg(test)]
mod calls;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod lifetime;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod log;
#[cfg(test)]
mod passage;
#[cfg(test)]
mod real;
#[cfg(test)]
mod results;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod servers;
