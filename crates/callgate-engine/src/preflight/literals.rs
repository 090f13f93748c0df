//! Values that a text shows.

use callgate_core::preflight::{Extent, Sketch};
use callgate_core::program::Position;
use callgate_schema::{Json, Str};
use oxc_ast::ast::{
    ArrayExpression, ArrayExpressionElement, BinaryExpression, BinaryOperator, CallExpression,
    Expression, NumericLiteral, ObjectExpression, ObjectPropertyKind, PropertyKind,
    TemplateLiteral, UnaryExpression, UnaryOperator,
};
use oxc_span::{GetSpan, Span};

use super::places::Places;
use super::survey::Survey;

/// The largest integer that a number of JavaScript holds together with its neighbours.
const SAFE: i128 = (1 << 53) - 1;
/// Parts of arguments that are looked at in one program.
const MOST: usize = 20_000;
/// How deep expressions are followed.
const DEPTH: u32 = 64;

/// The name that a computed member shows.
pub(super) fn name<'b>(it: &'b Expression<'_>) -> Option<&'b str> {
    match it.get_inner_expression() {
        Expression::StringLiteral(it) if !it.lone_surrogates => Some(it.value.as_str()),
        Expression::TemplateLiteral(it) => template(it),
        _ => None,
    }
}

/// What a name stands for whose declaration has this value: a scalar, or nothing that is known.
pub(super) fn constant(it: &Expression<'_>) -> Option<Json> {
    match it {
        Expression::NullLiteral(_) => Some(Json::Null),
        Expression::BooleanLiteral(it) => Some(it.value.into()),
        Expression::NumericLiteral(it) => number(it.value).filter(|_| rounded(it).is_none()),
        _ => name(it).map(Json::from),
    }
}

/// Whether a value counts as true.
pub(super) fn is_truthy(it: &Json) -> bool {
    match it {
        Json::Null => false,
        Json::Bool(it) => *it,
        Json::Number(it) => it.as_f64() != 0.0,
        Json::String(it) => !it.is_empty(),
        Json::Array(_) | Json::Object(_) => true,
    }
}

fn template<'b>(it: &'b TemplateLiteral<'_>) -> Option<&'b str> {
    match it.quasis.as_slice() {
        [only] if !only.lone_surrogates => {
            only.value.cooked.as_ref().map(oxc_ast::ast::Str::as_str)
        }
        _ => None,
    }
}

fn number(value: f64) -> Option<Json> {
    Json::try_from(value).ok()
}

/// An integer literal that is not the number it says: its digits, and what becomes of them.
fn rounded(it: &NumericLiteral<'_>) -> Option<(i128, f64)> {
    let digits = it.raw.as_ref()?.as_str().replace('_', "");
    let digits = digits.to_ascii_lowercase();
    let exact = match digits.get(..2) {
        Some("0x") => i128::from_str_radix(&digits[2..], 16),
        Some("0o") => i128::from_str_radix(&digits[2..], 8),
        Some("0b") => i128::from_str_radix(&digits[2..], 2),
        _ => digits.parse(),
    };
    #[expect(clippy::cast_possible_truncation, reason = "beyond that range the two differ anyway")]
    let is_off = |exact: &i128| it.value as i128 != *exact;
    exact.ok().filter(is_off).map(|exact| (exact, it.value))
}

/// Makes sketches of arguments.
pub(super) struct Sketcher<'s> {
    pub(super) survey: Survey,
    pub(super) places: Places<'s>,
    /// Integers that would be rounded, in what was sketched since this was last taken.
    pub(super) rounded: Vec<(Position, String)>,
    left: usize,
}

impl<'s> Sketcher<'s> {
    pub(super) fn new(survey: Survey, source: &'s str) -> Self {
        Self { survey, places: Places::new(source), rounded: Vec::new(), left: MOST }
    }

    pub(super) fn at(&mut self, span: Span) -> Position {
        self.places.at(span.start)
    }

    /// What is known of a value.
    pub(super) fn sketch(&mut self, it: &Expression<'_>) -> Sketch {
        self.below(it, 0)
    }

    fn below(&mut self, it: &Expression<'_>, depth: u32) -> Sketch {
        let it = it.get_inner_expression();
        let at = self.at(it.span());
        if self.left == 0 || depth >= DEPTH {
            return Sketch::unknown(at);
        }
        self.left -= 1;
        match it {
            Expression::NullLiteral(_) => Sketch::scalar(at, Json::Null),
            Expression::BooleanLiteral(it) => Sketch::scalar(at, it.value),
            Expression::NumericLiteral(it) => self.number(at, it, ""),
            Expression::BigIntLiteral(it) => bigint(at, it.value.as_str().parse().ok()),
            Expression::StringLiteral(it) if it.lone_surrogates => {
                Sketch::unfit(at, LONE_SURROGATE)
            }
            Expression::StringLiteral(it) => Sketch::scalar(at, it.value.as_str()),
            Expression::TemplateLiteral(it) => match template(it) {
                Some(text) => Sketch::scalar(at, text),
                None => Sketch::text(at),
            },
            Expression::Identifier(it) => self.named(at, it.name.as_str()),
            Expression::ArrayExpression(it) => self.list(at, it, depth),
            Expression::ObjectExpression(it) => self.object(at, it, depth),
            Expression::UnaryExpression(it) => self.unary(at, it, depth),
            Expression::BinaryExpression(it) => self.binary(at, it, depth),
            Expression::ArrowFunctionExpression(_)
            | Expression::FunctionExpression(_)
            | Expression::ClassExpression(_) => Sketch::unfit(at, "a function is not JSON"),
            Expression::RegExpLiteral(_) => {
                Sketch::unfit(at, "a RegExp is not JSON: pass x.source")
            }
            Expression::NewExpression(it) => {
                match self.global_name(&it.callee).and_then(why_not_new) {
                    Some(why) => Sketch::unfit(at, why),
                    None => Sketch::unknown(at),
                }
            }
            Expression::CallExpression(it) => self.call(at, it),
            _ => Sketch::unknown(at),
        }
    }

    /// A literal with its sign in front, which is empty or `-`.
    fn number(&mut self, at: Position, it: &NumericLiteral<'_>, sign: &str) -> Sketch {
        if let Some((exact, value)) = rounded(it) {
            let fits = i64::try_from(exact).is_ok() || u64::try_from(exact).is_ok();
            let remedy = if fits {
                format!("write {sign}{exact}n, or pass it as a string")
            } else {
                "pass it as a string".to_owned()
            };
            let message = format!("JavaScript rounds {sign}{exact} to {sign}{value:.0}: {remedy}");
            self.rounded.push((at, message));
            return Sketch::number(at);
        }
        match number(it.value) {
            Some(number) => Sketch::scalar(at, number),
            None => Sketch::unfit(at, format!("{sign}Infinity is not JSON: use null")),
        }
    }

    fn named(&mut self, at: Position, name: &str) -> Sketch {
        if let Some(literal) = self.survey.literal(name) {
            return Sketch::scalar(at, literal.clone());
        }
        if !self.survey.is_global(name) {
            return Sketch::unknown(at);
        }
        match name {
            "undefined" => Sketch::absent(at),
            "NaN" | "Infinity" => Sketch::unfit(at, format!("{name} is not JSON: use null")),
            _ => Sketch::unknown(at),
        }
    }

    fn list(&mut self, at: Position, it: &ArrayExpression<'_>, depth: u32) -> Sketch {
        let mut items = Vec::new();
        for element in &it.elements {
            match element {
                ArrayExpressionElement::SpreadElement(_) => {
                    return Sketch::list(at, items, Extent::Open);
                }
                ArrayExpressionElement::Elision(it) => {
                    let at = self.at(it.span);
                    items.push(Sketch::unfit(at, HOLE));
                }
                _ => {
                    let Some(item) = element.as_expression() else { break };
                    let sketch = self.below(item, depth + 1);
                    let is_absent = sketch.is_absent();
                    let at = self.at(item.span());
                    items.push(if is_absent { Sketch::unfit(at, HOLE) } else { sketch });
                }
            }
        }
        Sketch::list(at, items, Extent::Complete)
    }

    fn object(&mut self, at: Position, it: &ObjectExpression<'_>, depth: u32) -> Sketch {
        let mut members: Vec<(Str, Position, Sketch)> = Vec::new();
        let mut extent = Extent::Complete;
        for property in &it.properties {
            let property = match property {
                ObjectPropertyKind::ObjectProperty(property) => property,
                ObjectPropertyKind::SpreadProperty(_) => {
                    forget_values(&mut members);
                    extent = Extent::Open;
                    continue;
                }
            };
            let name = property.key.static_name().filter(|_| !property.computed);
            let name = name.or_else(|| {
                let key = property.key.as_expression().filter(|_| property.computed)?;
                self::name(key).map(|name| name.to_owned().into())
            });
            let is_prototype = name.as_deref() == Some("__proto__")
                && !(property.computed || property.shorthand || property.method);
            let Some(name) = name.filter(|_| !is_prototype) else {
                forget_values(&mut members);
                extent = Extent::Open;
                continue;
            };
            let key = self.at(property.key.span());
            let value = match property.kind {
                PropertyKind::Init => self.below(&property.value, depth + 1),
                PropertyKind::Get | PropertyKind::Set => Sketch::unknown(key),
            };
            members.push((Str::from(&*name), key, value));
        }
        Sketch::object(at, members, extent)
    }

    fn unary(&mut self, at: Position, it: &UnaryExpression<'_>, depth: u32) -> Sketch {
        match (it.operator, it.argument.get_inner_expression()) {
            (UnaryOperator::UnaryNegation, Expression::NumericLiteral(number))
                if number.value == 0.0 =>
            {
                Sketch::unfit(at, "-0 is not JSON: use 0")
            }
            (UnaryOperator::UnaryNegation, Expression::NumericLiteral(literal)) => {
                match number(-literal.value).filter(|_| rounded(literal).is_none()) {
                    Some(number) => Sketch::scalar(at, number),
                    None => self.number(at, literal, "-"),
                }
            }
            (UnaryOperator::UnaryNegation, Expression::BigIntLiteral(it)) => {
                bigint(at, it.value.as_str().parse::<i128>().ok().map(|value| -value))
            }
            (
                UnaryOperator::UnaryNegation | UnaryOperator::BitwiseNot | UnaryOperator::UnaryPlus,
                _,
            ) => Sketch::number(at),
            (UnaryOperator::LogicalNot | UnaryOperator::Delete, _) => Sketch::boolean(at),
            (UnaryOperator::Typeof, _) => Sketch::text(at),
            (UnaryOperator::Void, argument) => match self.below(argument, depth + 1) {
                _ if self.left == 0 => Sketch::unknown(at),
                _ => Sketch::absent(at),
            },
        }
    }

    fn binary(&mut self, at: Position, it: &BinaryExpression<'_>, depth: u32) -> Sketch {
        match it.operator {
            BinaryOperator::Addition => {
                let is_text = |side: &Sketch| side.is_text();
                if is_text(&self.below(&it.left, depth + 1))
                    || is_text(&self.below(&it.right, depth + 1))
                {
                    Sketch::text(at)
                } else {
                    Sketch::unknown(at)
                }
            }
            operator
                if operator.is_equality() || operator.is_compare() || operator.is_relational() =>
            {
                Sketch::boolean(at)
            }
            _ => Sketch::number(at),
        }
    }

    /// What a call gives: a promise, if it is one of a tool.
    fn call(&mut self, at: Position, it: &CallExpression<'_>) -> Sketch {
        let callee = it.callee.get_inner_expression();
        let is_tool = match callee {
            Expression::StaticMemberExpression(it) => self.survey.is_namespace(&it.object),
            Expression::ComputedMemberExpression(it) => self.survey.is_namespace(&it.object),
            _ => false,
        };
        if is_tool && !it.optional {
            return Sketch::unfit(at, "a promise is not JSON: `await` it first");
        }
        match self.global_name(callee) {
            Some("String") => Sketch::text(at),
            Some("Boolean") => Sketch::boolean(at),
            Some("Symbol") => Sketch::unfit(at, "a symbol is not JSON"),
            _ => Sketch::unknown(at),
        }
    }

    /// The name of a function of the language, if the program did not take it.
    fn global_name<'b>(&self, it: &'b Expression<'_>) -> Option<&'b str> {
        match it.get_inner_expression() {
            Expression::Identifier(it) if self.survey.is_global(it.name.as_str()) => {
                Some(it.name.as_str())
            }
            _ => None,
        }
    }
}

const LONE_SURROGATE: &str = "half of a surrogate pair is not text: use toWellFormed()";
const HOLE: &str = "undefined is not JSON: use null, or leave the item out";

/// A bigint crosses only where a number would be rounded.
fn bigint(at: Position, value: Option<i128>) -> Sketch {
    match value {
        Some(value) if value.abs() <= SAFE => {
            Sketch::unfit(at, "a bigint that a number can hold: write Number(x)")
        }
        Some(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Sketch::scalar(at, value),
            (_, Ok(value)) => Sketch::scalar(at, value),
            _ => Sketch::unfit(at, TOO_LARGE),
        },
        None => Sketch::unknown(at),
    }
}

const TOO_LARGE: &str = "a bigint beyond 64 bits is not JSON: pass String(x)";

fn why_not_new(class: &str) -> Option<&'static str> {
    Some(match class {
        "Date" => "a Date is not JSON: pass x.toISOString()",
        "RegExp" => "a RegExp is not JSON: pass x.source",
        "Map" => "a Map is not JSON: pass Object.fromEntries(x)",
        "Set" => "a Set is not JSON: pass [...x]",
        "Error" | "TypeError" | "RangeError" => "an error is not JSON: pass its message",
        "Promise" => "a promise is not JSON: `await` it first",
        _ => return None,
    })
}

/// What comes later may replace what is there.
fn forget_values(members: &mut [(Str, Position, Sketch)]) {
    for (_, at, value) in members {
        *value = Sketch::unknown(*at);
    }
}
