//! What one run may use.

use std::time::Duration;

use callgate_core::program::EngineError;

/// The limits of a run, checked.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Time the program computes.
    pub(crate) compute: Duration,
    /// Time from start to end, less what the run waited for people.
    pub(crate) wall: Duration,
    /// Bytes the interpreter may allocate.
    pub(crate) memory: usize,
    /// Bytes of stack the interpreter may use.
    pub(crate) stack: usize,
    /// Bytes of logs and value, as JSON.
    pub(crate) output: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            compute: Duration::from_mins(1),
            wall: Duration::from_mins(10),
            memory: 512 << 20,
            stack: 4 << 20,
            output: 64 << 20,
        }
    }
}

impl Limits {
    /// The largest ceiling on the wall clock.
    const MAX_WALL: Duration = Duration::from_millis(2_147_483_647);
    /// Less is not enough for the interpreter's own start.
    const MIN_STACK: usize = 128 << 10;
    /// The engine turns its check off for anything larger.
    const MAX_STACK: usize = 16 << 20;
    /// Whole numbers up to here are exact wherever the setting travels.
    const MAX_OUTPUT: u64 = (1 << 53) - 1;

    /// Room in a frame for what stands around a value.
    const FRAME: usize = 64 << 10;

    /// The longest frame a worker may send: a value as large as its memory, or all of its output.
    pub(crate) fn frame_cap(&self) -> usize {
        let output = usize::try_from(self.output).unwrap_or(usize::MAX);
        let longest = usize::try_from(u32::MAX / 2).unwrap_or(usize::MAX);
        self.memory.max(output).saturating_add(Self::FRAME).min(longest)
    }

    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let refuse = |what: String| Err(EngineError::new(what));
        if self.compute.is_zero() {
            return refuse("the compute budget must be more than zero".to_owned());
        }
        if self.wall.is_zero() || self.wall > Self::MAX_WALL {
            return refuse(format!(
                "the wall ceiling must be more than zero and at most {:?}",
                Self::MAX_WALL
            ));
        }
        if self.memory == 0 {
            return refuse("the memory limit must be more than zero".to_owned());
        }
        if !(Self::MIN_STACK..=Self::MAX_STACK).contains(&self.stack) {
            return refuse(format!(
                "the stack limit must be between {} and {} bytes",
                Self::MIN_STACK,
                Self::MAX_STACK
            ));
        }
        if !(4..=Self::MAX_OUTPUT).contains(&self.output) {
            return refuse(format!(
                "the output limit must be between 4 and {} bytes",
                Self::MAX_OUTPUT
            ));
        }
        Ok(())
    }
}

/// The limits that the builders of all engines set, under the same names. The builder keeps them in `limits`.
macro_rules! limit_setters {
    () => {
        /// How long a program may compute. Waiting for calls and timers is free. 60 seconds by
        /// default.
        pub fn compute(mut self, budget: Duration) -> Self {
            self.limits.compute = budget;
            self
        }

        /// How long a program may take from start to end, less the time it waited for people. 10
        /// minutes by default, at most 2,147,483,647 milliseconds.
        pub fn wall(mut self, ceiling: Duration) -> Self {
            self.limits.wall = ceiling;
            self
        }

        /// How many bytes a program may allocate. 512 MiB by default.
        pub fn memory(mut self, bytes: usize) -> Self {
            self.limits.memory = bytes;
            self
        }

        /// How many bytes of JSON the logs and the returned value may have together. 64 MiB by
        /// default, at least 4.
        pub fn max_output_bytes(mut self, bytes: u64) -> Self {
            self.limits.output = bytes;
            self
        }
    };
    (with stack) => {
        limit_setters!();

        /// How many bytes of stack the interpreter may use. 4 MiB by default, between 128 KiB and
        /// 16 MiB.
        pub fn stack(mut self, bytes: usize) -> Self {
            self.limits.stack = bytes;
            self
        }
    };
}
pub(crate) use limit_setters;
