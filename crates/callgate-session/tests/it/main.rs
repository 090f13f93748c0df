//! Tests of the session log through its public interface.

mod session;
