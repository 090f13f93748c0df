//! A guarded tool runtime for AI agents
