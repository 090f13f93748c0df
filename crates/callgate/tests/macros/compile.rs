//! Programs under `good` compile; those under `bad` end with the messages beside them.
//!
//! `TRYBUILD=overwrite cargo test -p callgate --test macros` writes the messages anew.

#[test]
fn good_functions_compile_and_errors_point_at_the_code_of_the_author() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/macros/good/*.rs");
    cases.compile_fail("tests/macros/bad/*.rs");
}
