//! How much parsing and checking allocate. Exact numbers do not flicker, so they are asserted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use callgate_schema::{Json, ParamSpec, SchemaError, SubsetSchema, ValueSpec, json};

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

fn schema() -> Result<SubsetSchema, SchemaError> {
    ParamSpec::new()
        .required("query", ValueSpec::string())
        .required("mode", ValueSpec::string().values(["exact", "prefix"]))
        .optional("limit", ValueSpec::one_of(ValueSpec::integer(), ValueSpec::null()))
        .optional("tags", ValueSpec::array_of(ValueSpec::string()))
        .optional(
            "rows",
            ValueSpec::array_of(ValueSpec::object().closed().required("id", ValueSpec::integer())),
        )
        .compile()
}

#[test]
fn checking_flat_arguments_allocates_nothing() {
    let schema = schema().unwrap();
    let value = json!({ "query": "needle", "mode": "exact", "limit": null, "tags": ["a", "b"] });
    assert_eq!(allocations(|| schema.validate(&value, "").is_empty()), (0, true));
}

#[test]
fn checking_nested_arguments_allocates_one_stack() {
    let schema = schema().unwrap();
    let value = json!({ "query": "needle", "mode": "exact", "rows": [{ "id": 1 }, { "id": 2 }, { "id": 3 }] });
    assert_eq!(allocations(|| schema.validate(&value, "").is_empty()), (1, true));
}

#[test]
fn cloning_comparing_and_dropping_allocate_nothing() {
    let value = json!({ "a": [1, 2.5, "x", null], "b": { "c": true } });
    let other = Json::parse(&value.to_string()).unwrap();
    assert_eq!(allocations(|| value.clone() == value).0, 0);
    assert_eq!(allocations(|| drop(other)).0, 1);
    assert_eq!(allocations(|| drop(value)).0, 1);
}

#[test]
fn rows_of_a_table_share_the_names_of_their_members() {
    let row = r#"{"id":1,"name":null,"flag":true}"#;
    let table = |rows: usize| format!("[{}]", vec![row; rows].join(","));
    let (few, _few) = allocations(|| Json::parse(&table(10)).unwrap());
    let (many, _many) = allocations(|| Json::parse(&table(110)).unwrap());
    let (few_text, _) = allocations(|| table(10));
    let (many_text, _) = allocations(|| table(110));
    // One list of members and its shared handle for each row; the few others are growing stacks.
    let each_hundred = (many - many_text) - (few - few_text);
    assert!((200..=210).contains(&each_hundred), "{each_hundred}");
}
