//! The deserializer over a [`Json`].

use std::fmt;

use serde::Deserializer;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::super::ser::{HANDOVER, SERDE_DEPTH_LIMIT, too_deep};
use super::HANDED_OVER;
use crate::json::{Json, Number, Str};

/// What a type said about a value it does not take.
#[derive(Debug)]
pub(super) struct Fault(pub(super) String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

#[derive(Clone, Copy)]
pub(super) struct Source<'de> {
    value: &'de Json,
    depth: usize,
}

impl<'de> Source<'de> {
    pub(super) fn new(value: &'de Json) -> Self {
        Self { value, depth: 0 }
    }

    fn part(self, value: &'de Json) -> Result<Self, Fault> {
        let depth = self.depth + 1;
        if depth > SERDE_DEPTH_LIMIT { Err(Fault(too_deep())) } else { Ok(Self { value, depth }) }
    }

    /// An integer beyond 64 bits that a 128-bit type could take exactly.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range is checked and the double has no fraction"
    )]
    fn long_integer(self) -> Option<i128> {
        const TWO_127: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
        let number = self.value.as_number()?;
        let value = number.as_f64();
        let beyond = number.as_i64().is_none() && number.as_u64().is_none() && number.is_integer();
        (beyond && (-TWO_127..TWO_127).contains(&value)).then_some(value as i128)
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: Number, visitor: V) -> Result<V::Value, Fault> {
    match (number.as_u64(), number.as_i64()) {
        (Some(value), _) => visitor.visit_u64(value),
        (None, Some(value)) => visitor.visit_i64(value),
        (None, None) => visitor.visit_f64(number.as_f64()),
    }
}

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => visit_number(*number, visitor),
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(array) => {
                let mut items = Items { source: self, rest: array.iter() };
                let value = visitor.visit_seq(&mut items)?;
                all_taken(items.rest.len(), "item")?;
                Ok(value)
            }
            Json::Object(object) => {
                let mut members =
                    Members { source: self, rest: object.entries().iter(), value: None };
                let value = visitor.visit_map(&mut members)?;
                all_taken(members.rest.len(), "member")?;
                Ok(value)
            }
        }
    }

    /// A double takes an integer only if it holds it exactly.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Some(number) = self.value.as_number() else { return self.deserialize_any(visitor) };
        match number.as_exact_f64() {
            Some(value) => visitor.visit_f64(value),
            None => Err(Fault(format!("the integer {number} cannot be held exactly by a double"))),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.long_integer() {
            Some(value) => visitor.visit_i128(value),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_i128(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == HANDOVER {
            // Where this thread's storage is gone, the visitor falls back on reading the parts.
            let _gone = HANDED_OVER.try_with(|slot| slot.set(Some(self.value.clone())));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let (variant, value) = match self.value {
            Json::String(variant) => (variant, None),
            Json::Object(object) => match object.entries() {
                [(variant, value)] => (variant, Some(self.part(value)?)),
                _ => {
                    return Err(Fault(format!(
                        "an enum is an object with one member, not with {}",
                        object.len()
                    )));
                }
            },
            other => {
                return Err(Fault(format!(
                    "an enum is a string or an object, not {}",
                    other.kind().described()
                )));
            }
        };
        visitor.visit_enum(Variant { name: variant, value })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier
    }
}

fn all_taken(left: usize, what: &str) -> Result<(), Fault> {
    if left == 0 { Ok(()) } else { Err(Fault(format!("{left} {what}(s) more than expected"))) }
}

struct Items<'de> {
    source: Source<'de>,
    rest: std::slice::Iter<'de, Json>,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        match self.rest.next() {
            None => Ok(None),
            Some(value) => seed.deserialize(self.source.part(value)?).map(Some),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Members<'de> {
    source: Source<'de>,
    rest: std::slice::Iter<'de, (Str, Json)>,
    value: Option<&'de Json>,
}

impl<'de> MapAccess<'de> for &mut Members<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        match self.rest.next() {
            None => Ok(None),
            Some((name, value)) => {
                self.value = Some(value);
                seed.deserialize(Key(name)).map(Some)
            }
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let value = self
            .value
            .take()
            .ok_or_else(|| Fault("a value was asked for before its key".to_owned()))?;
        seed.deserialize(self.source.part(value)?)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The name of a member.
struct Key<'de>(&'de Str);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(Variant { name: self.0, value: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant of an enum, with its data if it has any.
struct Variant<'de> {
    name: &'de Str,
    value: Option<Source<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Data<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Data<'de>), Fault> {
        let name: StrDeserializer<'_, Fault> = (&**self.name).into_deserializer();
        Ok((seed.deserialize(name)?, Data(self.value)))
    }
}

struct Data<'de>(Option<Source<'de>>);

impl<'de> Data<'de> {
    fn due(self, expected: &'static str) -> Result<Source<'de>, Fault> {
        self.0.ok_or_else(|| Fault::invalid_type(Unexpected::UnitVariant, &expected))
    }
}

impl<'de> VariantAccess<'de> for Data<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.0 {
            None => Ok(()),
            Some(source) => serde::Deserialize::deserialize(source),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self.due("a variant with a value")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.due("a variant with a list")?.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.due("a variant with members")?.deserialize_struct("", fields, visitor)
    }
}
