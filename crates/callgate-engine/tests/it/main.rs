//! Tests of the program engines, through their public interface.

mod support;
mod tsrt;
