//! Registry, scopes, hooks and the guarded call pipeline of callgate
