//! Values, tables and trees of calls as text for people.

mod cell;
mod table;
mod tree;
mod value;

pub(crate) use table::{Align, Table};
pub(crate) use tree::{Explained, tree};
pub(crate) use value::result;
