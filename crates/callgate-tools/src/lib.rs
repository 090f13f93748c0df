//! First-party tools for callgate
