//! How long the SDK text of many tools takes.

#[path = "sdk/fixture.rs"]
mod fixture;

use callgate_schema::{python, typescript};
use divan::Bencher;
use divan::counter::BytesCount;

use fixture::Fixture;

const TOOLS: [usize; 3] = [10, 100, 1_000];

fn main() {
    divan::main();
}

#[divan::bench(args = TOOLS)]
fn typescript_sdk(bencher: Bencher<'_, '_>, tools: usize) {
    let fixture = Fixture::new(tools);
    let tools = fixture.tools();
    let bytes = BytesCount::of_str(&*typescript::declarations(&tools));
    bencher.counter(bytes).bench(|| typescript::declarations(&tools));
}

#[divan::bench(args = TOOLS)]
fn python_sdk(bencher: Bencher<'_, '_>, tools: usize) {
    let fixture = Fixture::new(tools);
    let tools = fixture.tools();
    let bytes = BytesCount::of_str(&*python::declarations(&tools));
    bencher.counter(bytes).bench(|| python::declarations(&tools));
}

#[divan::bench(args = TOOLS)]
fn typescript_sdk_foreign(bencher: Bencher<'_, '_>, tools: usize) {
    let fixture = Fixture::foreign(tools);
    let tools = fixture.tools();
    bencher.bench(|| typescript::declarations(&tools));
}

#[divan::bench(args = TOOLS)]
fn python_sdk_foreign(bencher: Bencher<'_, '_>, tools: usize) {
    let fixture = Fixture::foreign(tools);
    let tools = fixture.tools();
    bencher.bench(|| python::declarations(&tools));
}
