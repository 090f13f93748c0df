//! How much one call allocates. Exact numbers do not flicker, so they are asserted.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use callgate_core::{CallInput, Output, ToolDefinition, ToolRuntime, render};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator that counts must implement the unsafe trait")]
// SAFETY: every call is handed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The cell may be gone while a thread ends; then nobody counts.
        let _gone = COUNT.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _gone = COUNT.try_with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = COUNT.with(Cell::get);
    let done = work();
    (COUNT.with(Cell::get) - before, done)
}

/// A call without hooks never waits, so one poll is enough.
fn poll_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the call waits for something"),
    }
}

fn runtime(tools: usize) -> ToolRuntime {
    let add = |name: String| {
        ToolDefinition::new(
            name,
            "Adds two whole numbers.",
            ParamSpec::new()
                .required("a", ValueSpec::integer())
                .required("b", ValueSpec::integer()),
            Output::new(
                ValueSpec::object().closed().required("sum", ValueSpec::integer()),
                render::json,
            ),
            |arguments: Json, _| async move {
                let number = |name| arguments.get(name).and_then(Json::as_i64).unwrap_or(0);
                Ok(json!({ "sum": number("a") + number("b") }))
            },
        )
    };
    let runtime = ToolRuntime::builder().build().unwrap();
    for index in 0..tools {
        runtime.register(add(format!("add_{index}"))).unwrap();
    }
    runtime
}

#[test]
fn a_call_without_hooks_stays_within_sixteen_allocations() {
    let runtime = runtime(1);
    let execute = || {
        let input = CallInput::new("call-1", "add_0", json!({ "a": 1, "b": 2 }));
        allocations(|| poll_once(runtime.execute(input)))
    };
    execute();
    let (count, result) = execute();
    assert_eq!(result.value().unwrap(), &json!({ "sum": 3 }));
    assert!(count <= 16, "{count} allocations");
}

#[test]
fn looking_at_an_unchanged_view_allocates_nothing() {
    let runtime = runtime(1_000);
    let look = || allocations(|| (runtime.get("add_500"), runtime.schemas().len()));
    look();
    let (count, (tool, schemas)) = look();
    assert_eq!((count, schemas), (0, 1_000));
    assert!(tool.is_some());
}
