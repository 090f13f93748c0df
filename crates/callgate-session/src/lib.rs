//! Session events, append-only log and log checker for callgate
