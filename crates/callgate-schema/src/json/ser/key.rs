//! The keys of maps: strings, and what is only ever written as a string.

use serde::ser::{Impossible, Serialize, Serializer};

use super::Fault;
use crate::json::{Str, ValueErrorKind};

pub(super) struct KeyReader;

#[cold]
fn refuse(what: &str) -> Fault {
    Fault::new(
        ValueErrorKind::Key,
        format!("a map key must be a string, but one is {what}; turn it into a string"),
    )
}

macro_rules! refused {
    ($($method:ident: $type:ty, $what:literal);* $(;)?) => {$(
        fn $method(self, _: $type) -> Result<Str, Fault> {
            Err(refuse($what))
        }
    )*};
}

type Never = Impossible<Str, Fault>;

impl Serializer for KeyReader {
    type Ok = Str;
    type Error = Fault;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_str(self, value: &str) -> Result<Str, Fault> {
        Ok(value.into())
    }

    fn serialize_char(self, value: char) -> Result<Str, Fault> {
        Ok((&*value.encode_utf8(&mut [0; 4])).into())
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Str, Fault> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Str, Fault> {
        value.serialize(self)
    }

    refused! {
        serialize_bool: bool, "a boolean";
        serialize_i8: i8, "an integer";
        serialize_i16: i16, "an integer";
        serialize_i32: i32, "an integer";
        serialize_i64: i64, "an integer";
        serialize_i128: i128, "an integer";
        serialize_u8: u8, "an integer";
        serialize_u16: u16, "an integer";
        serialize_u32: u32, "an integer";
        serialize_u64: u64, "an integer";
        serialize_u128: u128, "an integer";
        serialize_f32: f32, "a number";
        serialize_f64: f64, "a number";
        serialize_bytes: &[u8], "a list of bytes";
        serialize_unit_struct: &'static str, "an empty struct";
    }

    fn serialize_none(self) -> Result<Str, Fault> {
        Err(refuse("an option"))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<Str, Fault> {
        Err(refuse("an option"))
    }

    fn serialize_unit(self) -> Result<Str, Fault> {
        Err(refuse("empty"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _: u32,
        _variant: &'static str,
        _: &T,
    ) -> Result<Str, Fault> {
        Err(refuse("an enum with data"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, Fault> {
        Err(refuse("a list"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, Fault> {
        Err(refuse("a tuple"))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _: usize) -> Result<Never, Fault> {
        Err(refuse("a tuple"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _: u32,
        _variant: &'static str,
        _: usize,
    ) -> Result<Never, Fault> {
        Err(refuse("an enum with data"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, Fault> {
        Err(refuse("a map"))
    }

    fn serialize_struct(self, _name: &'static str, _: usize) -> Result<Never, Fault> {
        Err(refuse("a struct"))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _: u32,
        _variant: &'static str,
        _: usize,
    ) -> Result<Never, Fault> {
        Err(refuse("an enum with data"))
    }
}
