//! The serializer that builds [`Json`].

use std::fmt::Display;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::key::KeyReader;
use super::{Fault, HANDOVER, SERDE_DEPTH_LIMIT, ask_for_json, too_deep};
use crate::json::number::NumberFault;
use crate::json::{
    Json, JsonPath, Number, Object, ObjectBuilder, ParseErrorKind, Step, Str, ValueErrorKind,
};

/// How `serde_json` spells a number when it keeps all digits; whether it does depends on the whole build.
pub(crate) const SERDE_JSON_NUMBER: &str = "$serde_json::private::Number";
/// How `serde_json` spells text that is JSON already.
const SERDE_JSON_RAW: &str = "$serde_json::private::RawValue";

/// Where the reading stands.
#[derive(Default)]
pub(super) struct Context {
    path: Vec<Crumb>,
    depth: usize,
}

/// A step that costs nothing until it is needed for a message.
enum Crumb {
    Field(&'static str),
    Name(Str),
    Index(usize),
}

impl Context {
    pub(super) fn into_path(self, inner: Vec<Step>) -> JsonPath {
        let steps = self.path.into_iter().map(|crumb| match crumb {
            Crumb::Field(name) => Step::Name(name.into()),
            Crumb::Name(name) => Step::Name(name),
            Crumb::Index(index) => Step::Index(index),
        });
        steps.chain(inner).collect::<Vec<_>>().into()
    }

    /// Reads a part; on failure the path is left where the fault is.
    fn part<T: Serialize + ?Sized>(&mut self, crumb: Crumb, value: &T) -> Result<Json, Fault> {
        let length = self.path.len();
        self.path.push(crumb);
        let json = self.deeper(value)?;
        self.path.truncate(length);
        Ok(json)
    }

    fn deeper<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<Json, Fault> {
        if self.depth >= SERDE_DEPTH_LIMIT {
            return Err(Fault::new(ValueErrorKind::Depth, too_deep()));
        }
        self.depth += 1;
        let json = value.serialize(Reader { context: self });
        self.depth -= 1;
        json
    }
}

pub(super) struct Reader<'c> {
    pub(super) context: &'c mut Context,
}

impl<'c> Reader<'c> {
    fn items(self, length: Option<usize>, variant: Option<&'static str>) -> Items<'c> {
        if let Some(variant) = variant {
            self.context.path.push(Crumb::Field(variant));
        }
        let done = Vec::with_capacity(length.unwrap_or(0).min(MOST_RESERVED));
        Items { base: self.context.path.len(), context: self.context, done, variant }
    }

    fn members(self, length: usize, variant: Option<&'static str>) -> Members<'c> {
        if let Some(variant) = variant {
            self.context.path.push(Crumb::Field(variant));
        }
        let done = ObjectBuilder::with_capacity(length.min(MOST_RESERVED));
        Members { base: self.context.path.len(), context: self.context, done, name: None, variant }
    }
}

/// A producer may promise any length; only this much is believed.
const MOST_RESERVED: usize = 1_024;

fn double(value: f64, spelling: &dyn Display) -> Result<Json, Fault> {
    Number::checked(value)
        .map(Json::Number)
        .map_err(|fault| number_fault(fault, &spelling.to_string()))
}

fn number_fault(fault: NumberFault, token: &str) -> Fault {
    Fault::new(ValueErrorKind::Number, fault.message(token))
}

fn long_integer(token: &str) -> Result<Json, Fault> {
    Number::from_token(token).map(Json::Number).map_err(|fault| number_fault(fault, token))
}

fn tagged(variant: Option<&'static str>, json: Json) -> Json {
    match variant {
        None => json,
        Some(variant) => Object::builder().with(variant, json).build().into(),
    }
}

/// Text that `serde_json` says is JSON already.
fn embedded(json: &Json) -> Result<Json, Fault> {
    let Some(text) = json.as_str() else { return Ok(json.clone()) };
    Json::parse(text).map_err(|error| {
        let kind = match error.kind() {
            ParseErrorKind::NotLossless => ValueErrorKind::Number,
            ParseErrorKind::TooDeep => ValueErrorKind::Depth,
            ParseErrorKind::Syntax => ValueErrorKind::Producer,
        };
        Fault { kind, message: error.message().to_owned(), inner: error.path().steps().to_vec() }
    })
}

macro_rules! scalars {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, value: $type) -> Result<Json, Fault> {
            Ok(value.into())
        }
    )*};
}

impl<'c> Serializer for Reader<'c> {
    type Ok = Json;
    type Error = Fault;
    type SerializeSeq = Items<'c>;
    type SerializeTuple = Items<'c>;
    type SerializeTupleStruct = Items<'c>;
    type SerializeTupleVariant = Items<'c>;
    type SerializeMap = Members<'c>;
    type SerializeStruct = Fields<'c>;
    type SerializeStructVariant = Members<'c>;

    scalars! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_str: &str
    }

    fn serialize_i128(self, value: i128) -> Result<Json, Fault> {
        long_integer(&value.to_string())
    }

    fn serialize_u128(self, value: u128) -> Result<Json, Fault> {
        long_integer(&value.to_string())
    }

    fn serialize_f32(self, value: f32) -> Result<Json, Fault> {
        double(value.into(), &value)
    }

    fn serialize_f64(self, value: f64) -> Result<Json, Fault> {
        double(value, &value)
    }

    fn serialize_char(self, value: char) -> Result<Json, Fault> {
        Ok((&*value.encode_utf8(&mut [0; 4])).into())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Json, Fault> {
        Ok(Json::Array(value.iter().copied().collect()))
    }

    fn serialize_none(self) -> Result<Json, Fault> {
        Ok(Json::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Json, Fault> {
        self.context.deeper(value)
    }

    fn serialize_unit(self) -> Result<Json, Fault> {
        Ok(Json::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Json, Fault> {
        Ok(Json::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Json, Fault> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Json, Fault> {
        if name != HANDOVER {
            return self.context.deeper(value);
        }
        match ask_for_json(|| value.serialize(self)) {
            (_, Some(json)) => Ok(json),
            (read, None) => read,
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Json, Fault> {
        let json = self.context.part(Crumb::Field(variant), value)?;
        Ok(tagged(Some(variant), json))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Items<'c>, Fault> {
        Ok(self.items(length, None))
    }

    fn serialize_tuple(self, length: usize) -> Result<Items<'c>, Fault> {
        Ok(self.items(Some(length), None))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        length: usize,
    ) -> Result<Items<'c>, Fault> {
        Ok(self.items(Some(length), None))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Items<'c>, Fault> {
        Ok(self.items(Some(length), Some(variant)))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Members<'c>, Fault> {
        Ok(self.members(length.unwrap_or(0), None))
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Fields<'c>, Fault> {
        Ok(match name {
            SERDE_JSON_NUMBER | SERDE_JSON_RAW => {
                Fields::Embedded { context: self.context, json: Json::Null }
            }
            _ => Fields::Members(self.members(length, None)),
        })
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Members<'c>, Fault> {
        Ok(self.members(length, Some(variant)))
    }
}

/// A list being read.
pub(super) struct Items<'c> {
    context: &'c mut Context,
    /// The length of the path to the list.
    base: usize,
    done: Vec<Json>,
    variant: Option<&'static str>,
}

impl Items<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.context.path.truncate(self.base);
        let json = self.context.part(Crumb::Index(self.done.len()), value)?;
        self.done.push(json);
        Ok(())
    }

    fn finish(self) -> Json {
        self.context.path.truncate(self.base - usize::from(self.variant.is_some()));
        tagged(self.variant, Json::Array(self.done.into()))
    }
}

/// A map or struct being read.
pub(super) struct Members<'c> {
    context: &'c mut Context,
    /// The length of the path to the object.
    base: usize,
    done: ObjectBuilder,
    name: Option<Str>,
    variant: Option<&'static str>,
}

impl Members<'_> {
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        self.context.path.truncate(self.base);
        let json = self.context.part(Crumb::Field(name), value)?;
        self.done.insert(name, json);
        Ok(())
    }

    fn finish(self) -> Json {
        self.context.path.truncate(self.base - usize::from(self.variant.is_some()));
        tagged(self.variant, Json::Object(self.done.build()))
    }
}

/// A struct, or one of the two structs that stand for something else.
pub(super) enum Fields<'c> {
    Members(Members<'c>),
    Embedded { context: &'c mut Context, json: Json },
}

macro_rules! list {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Items<'_> {
            type Ok = Json;
            type Error = Fault;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                self.push(value)
            }
            fn end(self) -> Result<Json, Fault> {
                Ok(self.finish())
            }
        }
    )*};
}
list!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

impl SerializeMap for Members<'_> {
    type Ok = Json;
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        self.context.path.truncate(self.base);
        self.name = Some(key.serialize(KeyReader)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let Some(name) = self.name.take() else {
            return Err(Fault::new(ValueErrorKind::Producer, "a map gave a value without a key"));
        };
        let json = self.context.part(Crumb::Name(name.clone()), value)?;
        self.done.insert(name, json);
        Ok(())
    }

    fn end(self) -> Result<Json, Fault> {
        Ok(self.finish())
    }
}

impl SerializeStructVariant for Members<'_> {
    type Ok = Json;
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.field(name, value)
    }

    fn end(self) -> Result<Json, Fault> {
        Ok(self.finish())
    }
}

impl SerializeStruct for Fields<'_> {
    type Ok = Json;
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        match self {
            Self::Members(members) => members.field(name, value),
            Self::Embedded { context, json } => {
                *json = embedded(&context.deeper(value)?)?;
                Ok(())
            }
        }
    }

    fn end(self) -> Result<Json, Fault> {
        Ok(match self {
            Self::Members(members) => members.finish(),
            Self::Embedded { json, .. } => json,
        })
    }
}
