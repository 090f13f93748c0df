//! The calls of a program, and what would become of their failures.

use std::collections::HashMap;

use callgate_core::preflight::{CallSketch, Finding, FindingKind, Sketch};
use oxc_ast::ast::BindingPattern;
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ArrowFunctionBody, ArrowFunctionExpression, CallExpression,
    Class, Expression, ForOfStatement, Function, IdentifierReference, Program, Statement,
    TSClassImplements, TSType, TryStatement, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::literals::{self, Sketcher};
use super::survey::Survey;
use super::uses::{Body, Certain, Uses};
use crate::strip::{NO_MODULES, is_type_only};

/// Calls that are looked at in one program.
const MOST: usize = 5_000;
/// How deep a condition is followed.
const DEPTH: u32 = 32;

/// What a program does with its tools, as far as its text tells.
pub(super) struct ProgramSketch {
    pub(super) calls: Vec<CallSketch>,
    pub(super) findings: Vec<Finding>,
}

pub(super) fn sketch(
    program: &Program<'_>,
    source: &str,
    global: &str,
    survey: Survey,
) -> ProgramSketch {
    let mut uses = Uses::new();
    let functions: HashMap<String, (Body, bool)> = survey
        .functions()
        .map(|(name, is_generator)| (name.to_owned(), (uses.body(), is_generator)))
        .collect();
    let is_shadowed = !survey.is_global(global);
    let mut walk = Walk {
        global,
        is_shadowed,
        sketcher: Sketcher::new(survey, source),
        functions,
        uses,
        body: Body::TOP,
        is_guarded: false,
        fate: Fate::Unknown,
        breaks: 0,
        calls: Vec::new(),
        requires: Vec::new(),
    };
    walk.visit_program(program);
    walk.finish()
}

/// What becomes of the promise that the expression at hand makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Whoever knows.
    Unknown,
    /// Its rejection is thrown here, or handed on to the caller.
    PassedOn,
    /// It is the whole of a statement: nobody waits for it.
    Dropped,
}

/// What a condition depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// What happens at run time.
    Open,
    /// Nothing but the text, which says so.
    Always(bool),
    /// Nothing but the text.
    Fixed,
}

struct Call {
    sketch: CallSketch,
    body: Body,
    is_guarded: bool,
    fate: Fate,
    rounded: Vec<Finding>,
}

struct Walk<'s> {
    global: &'s str,
    is_shadowed: bool,
    sketcher: Sketcher<'s>,
    functions: HashMap<String, (Body, bool)>,
    uses: Uses,
    /// The code that is being looked at.
    body: Body,
    /// Whether a failure here may be caught, or the place may never be reached.
    is_guarded: bool,
    /// For the next expression.
    fate: Fate,
    /// How many `break` statements there were so far.
    breaks: usize,
    calls: Vec<Call>,
    requires: Vec<(Body, Finding)>,
}

impl Walk<'_> {
    fn finish(self) -> ProgramSketch {
        let certain: Certain = self.uses.certain();
        let survey = &self.sketcher.survey;
        let mut findings = Vec::new();
        for (body, finding) in self.requires {
            if certain.is(body) {
                findings.push(finding);
            }
        }
        let mut calls = Vec::new();
        for Call { mut sketch, body, is_guarded, fate, rounded } in self.calls {
            let is_certain = !is_guarded && certain.is(body);
            sketch.is_lookup_certain = is_certain && !survey.is_tested(&sketch.member);
            sketch.is_refusal_certain = is_certain && fate != Fate::Unknown;
            sketch.is_forgotten = !is_guarded && fate == Fate::Dropped;
            if is_certain {
                findings.extend(rounded);
            }
            calls.push(sketch);
        }
        ProgramSketch { calls, findings }
    }

    fn guarded(&mut self, is_guarded: bool, then: impl FnOnce(&mut Self)) {
        let outer = self.is_guarded;
        self.is_guarded |= is_guarded;
        then(self);
        self.is_guarded = outer;
    }

    fn expression(&mut self, it: &Expression<'_>, fate: Fate) {
        self.fate = fate;
        self.visit_expression(it);
    }

    // Statements. Each says whether what follows it in its list is out of reach.

    fn statements(&mut self, list: &[Statement<'_>]) -> bool {
        let outer = self.is_guarded;
        let mut is_over = false;
        for statement in list {
            self.is_guarded = outer || is_over;
            is_over |= self.statement(statement);
        }
        self.is_guarded = outer;
        is_over
    }

    fn statement(&mut self, it: &Statement<'_>) -> bool {
        match it {
            _ if is_type_only(it) => false,
            Statement::ExpressionStatement(it) => {
                self.expression(&it.expression, Fate::Dropped);
                false
            }
            Statement::ReturnStatement(it) => {
                if let Some(value) = &it.argument {
                    self.expression(value, Fate::PassedOn);
                }
                true
            }
            Statement::ThrowStatement(it) => {
                self.expression(&it.argument, Fate::Unknown);
                true
            }
            Statement::BreakStatement(_) => {
                self.breaks += 1;
                true
            }
            Statement::ContinueStatement(_) => true,
            Statement::BlockStatement(it) => self.statements(&it.body),
            Statement::IfStatement(it) => {
                self.expression(&it.test, Fate::Unknown);
                let condition = self.condition(&it.test, 0);
                let mut ends = [false, false];
                self.guarded(is_out(condition, true), |walk| {
                    ends[0] = walk.statement(&it.consequent);
                });
                if let Some(alternate) = &it.alternate {
                    self.guarded(is_out(condition, false), |walk| {
                        ends[1] = walk.statement(alternate);
                    });
                }
                ends == [true, true]
            }
            Statement::WhileStatement(it) => {
                self.expression(&it.test, Fate::Unknown);
                let condition = self.condition(&it.test, 0);
                self.endless(condition == Condition::Always(true), |walk| {
                    walk.guarded(is_out(condition, true), |walk| {
                        walk.statement(&it.body);
                    });
                })
            }
            Statement::DoWhileStatement(it) => {
                let is_endless = self.condition(&it.test, 0) == Condition::Always(true);
                self.endless(is_endless, |walk| {
                    walk.statement(&it.body);
                    walk.expression(&it.test, Fate::Unknown);
                })
            }
            Statement::ForStatement(it) => {
                let condition = it
                    .test
                    .as_ref()
                    .map_or(Condition::Always(true), |test| self.condition(test, 0));
                self.endless(condition == Condition::Always(true), |walk| {
                    if let Some(init) = &it.init {
                        walk.visit_for_statement_init(init);
                    }
                    for part in it.test.iter().chain(&it.update) {
                        walk.expression(part, Fate::Unknown);
                    }
                    walk.guarded(is_out(condition, true), |walk| {
                        walk.statement(&it.body);
                    });
                })
            }
            Statement::ForOfStatement(it) => {
                self.for_of(it);
                false
            }
            Statement::TryStatement(it) => {
                self.attempt(it);
                false
            }
            Statement::SwitchStatement(it) => {
                self.expression(&it.discriminant, Fate::Unknown);
                let is_fixed = self.condition(&it.discriminant, 0) != Condition::Open;
                self.guarded(is_fixed, |walk| {
                    for case in &it.cases {
                        if let Some(test) = &case.test {
                            walk.expression(test, Fate::Unknown);
                        }
                        walk.statements(&case.consequent);
                    }
                });
                false
            }
            Statement::FunctionDeclaration(it) => {
                let body = it.id.as_ref().and_then(|id| self.function_named(id.name.as_str()));
                self.function(it, body);
                false
            }
            _ => {
                walk::walk_statement(self, it);
                false
            }
        }
    }

    fn endless(&mut self, is_endless: bool, then: impl FnOnce(&mut Self)) -> bool {
        let before = self.breaks;
        then(self);
        is_endless && self.breaks == before
    }

    fn for_of(&mut self, it: &ForOfStatement<'_>) {
        let right = it.right.get_inner_expression();
        let generator = match right {
            Expression::CallExpression(call) => self
                .function_called(&call.callee)
                .filter(|(_, is_generator)| *is_generator)
                .map(|it| (it.0, call)),
            _ => None,
        };
        match generator {
            Some((body, call)) => {
                self.uses.add(body, self.body, !self.is_guarded);
                self.visit_arguments(&call.arguments);
            }
            None => self.expression(&it.right, Fate::Unknown),
        }
        self.visit_for_statement_left(&it.left);
        let is_empty = matches!(right, Expression::ArrayExpression(it) if it.elements.is_empty());
        self.guarded(is_empty, |walk| {
            walk.statement(&it.body);
        });
    }

    fn attempt(&mut self, it: &TryStatement<'_>) {
        self.guarded(true, |walk| {
            walk.statements(&it.block.body);
        });
        if let Some(handler) = &it.handler {
            self.statements(&handler.body.body);
        }
        if let Some(finalizer) = &it.finalizer {
            self.statements(&finalizer.body);
        }
    }

    /// What a condition depends on. Whatever is fixed in the text is a switch that its author set.
    fn condition(&self, it: &Expression<'_>, depth: u32) -> Condition {
        if depth >= DEPTH {
            return Condition::Open;
        }
        let both =
            |left, right| match (self.condition(left, depth + 1), self.condition(right, depth + 1))
            {
                (Condition::Open, _) | (_, Condition::Open) => Condition::Open,
                _ => Condition::Fixed,
            };
        match it.get_inner_expression() {
            Expression::Identifier(it) => match self.sketcher.survey.literal(it.name.as_str()) {
                Some(literal) => Condition::Always(literals::is_truthy(literal)),
                None => Condition::Open,
            },
            Expression::UnaryExpression(it) if it.operator.is_not() => {
                match self.condition(&it.argument, depth + 1) {
                    Condition::Always(value) => Condition::Always(!value),
                    other => other,
                }
            }
            Expression::BinaryExpression(it) => both(&it.left, &it.right),
            Expression::LogicalExpression(it) => both(&it.left, &it.right),
            it => match literals::constant(it) {
                Some(literal) => Condition::Always(literals::is_truthy(&literal)),
                None => Condition::Open,
            },
        }
    }

    // Functions.

    fn function_named(&self, name: &str) -> Option<Body> {
        self.functions.get(name).map(|(body, _)| *body)
    }

    /// The function that is called by its name, and whether it is a generator.
    fn function_called(&self, callee: &Expression<'_>) -> Option<(Body, bool)> {
        match callee.get_inner_expression() {
            Expression::Identifier(it) => self.functions.get(it.name.as_str()).copied(),
            _ => None,
        }
    }

    /// Looks into a function; without a body that is known, nobody knows who calls it.
    fn function(&mut self, it: &Function<'_>, body: Option<Body>) {
        let body = body.unwrap_or_else(|| self.uses.body());
        let outer = std::mem::replace(&mut self.body, body);
        self.visit_formal_parameters(&it.params);
        if let Some(body) = &it.body {
            self.statements(&body.statements);
        }
        self.body = outer;
    }

    fn arrow(&mut self, it: &ArrowFunctionExpression<'_>, body: Option<Body>) {
        let body = body.unwrap_or_else(|| self.uses.body());
        let outer = std::mem::replace(&mut self.body, body);
        self.visit_formal_parameters(&it.params);
        match &it.body {
            ArrowFunctionBody::FunctionBody(body) => {
                self.statements(&body.statements);
            }
            body => {
                if let Some(value) = body.as_expression() {
                    self.expression(value, Fate::PassedOn);
                }
            }
        }
        self.body = outer;
    }

    /// A function that is called here and nowhere else, and hands its failures on if `passes_on` says so.
    fn callback(&mut self, it: &Expression<'_>, passes_on: bool) {
        let passes_on = passes_on && !self.is_guarded;
        match it.get_inner_expression() {
            Expression::ArrowFunctionExpression(it) => {
                let body = self.uses.body();
                self.uses.add(body, self.body, passes_on);
                self.arrow(it, Some(body));
            }
            Expression::FunctionExpression(it) if !it.generator => {
                let body = self.uses.body();
                self.uses.add(body, self.body, passes_on);
                self.function(it, Some(body));
            }
            Expression::Identifier(name) => match self.functions.get(name.name.as_str()) {
                Some((body, is_generator)) => {
                    self.uses.add(*body, self.body, passes_on && !is_generator);
                }
                None => self.visit_identifier_reference(name),
            },
            _ => self.expression(it, Fate::Unknown),
        }
    }

    // Calls.

    fn call(&mut self, it: &CallExpression<'_>, fate: Fate) {
        let callee = it.callee.get_inner_expression();
        let passes_on = fate == Fate::PassedOn;
        match callee {
            Expression::StaticMemberExpression(member) if self.is_namespace(&member.object) => {
                self.tool(member.property.name.as_str(), member.property.span, it, fate);
            }
            Expression::ComputedMemberExpression(member) if self.is_namespace(&member.object) => {
                match literals::name(&member.expression) {
                    Some(name) => self.tool(name, member.expression.span(), it, fate),
                    None => self.expression(&member.expression, Fate::Unknown),
                }
            }
            Expression::StaticMemberExpression(member) => {
                return self.method(&member.object, member.property.name.as_str(), it, fate);
            }
            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
                self.callback(callee, passes_on);
            }
            Expression::Identifier(name) => match self.functions.get(name.name.as_str()) {
                Some((body, is_generator)) => {
                    let passes_on = passes_on && !is_generator && !self.is_guarded;
                    self.uses.add(*body, self.body, passes_on);
                }
                None => self.named(name, it),
            },
            _ => self.expression(&it.callee, Fate::Unknown),
        }
        self.visit_arguments(&it.arguments);
    }

    fn is_namespace(&self, it: &Expression<'_>) -> bool {
        !self.is_shadowed && is_named(it, self.global)
    }

    fn tool(&mut self, member: &str, name: Span, it: &CallExpression<'_>, fate: Fate) {
        if self.calls.len() >= MOST {
            return;
        }
        let position = self.sketcher.at(name);
        let mut sketch = CallSketch::new(self.global, member, position);
        sketch.argument = match it.arguments.first() {
            None => Some(Sketch::absent(position)),
            Some(Argument::SpreadElement(_)) => None,
            Some(argument) => argument.as_expression().map(|it| self.sketcher.sketch(it)),
        };
        let rounded = std::mem::take(&mut self.sketcher.rounded).into_iter();
        let rounded =
            rounded.map(|(at, message)| Finding::new(FindingKind::RoundedInteger, at, message));
        self.calls.push(Call {
            sketch,
            body: self.body,
            is_guarded: self.is_guarded,
            fate,
            rounded: rounded.collect(),
        });
    }

    /// A method of something: those of promises decide what becomes of a rejection.
    fn method(&mut self, object: &Expression<'_>, name: &str, it: &CallExpression<'_>, fate: Fate) {
        let passes_on = fate == Fate::PassedOn;
        let is_promise_class =
            is_named(object, "Promise") && self.sketcher.survey.is_global("Promise");
        match (name, it.arguments.len()) {
            ("all", 1) if is_promise_class && passes_on => return self.all_of(&it.arguments[0]),
            ("allSettled" | "any", _) if is_promise_class => {
                return self.guarded(true, |walk| walk.visit_arguments(&it.arguments));
            }
            ("catch", _) | ("then", 2..) => {
                self.guarded(true, |walk| walk.expression(object, Fate::Unknown));
            }
            ("then" | "finally", 1) if passes_on => self.expression(object, Fate::PassedOn),
            _ => self.expression(object, Fate::Unknown),
        }
        self.visit_arguments(&it.arguments);
    }

    /// The argument of a `Promise.all` whose rejection is passed on.
    fn all_of(&mut self, argument: &Argument<'_>) {
        let Some(argument) = argument.as_expression() else {
            return self.visit_argument(argument);
        };
        match argument.get_inner_expression() {
            Expression::ArrayExpression(list) => {
                for element in &list.elements {
                    match element {
                        ArrayExpressionElement::SpreadElement(it) => self.mapped(&it.argument),
                        _ => {
                            if let Some(element) = element.as_expression() {
                                self.expression(element, Fate::PassedOn);
                            }
                        }
                    }
                }
            }
            _ => self.mapped(argument),
        }
    }

    /// A list of promises: `list.map(function)` makes one for each item.
    fn mapped(&mut self, it: &Expression<'_>) {
        if let Expression::CallExpression(call) = it.get_inner_expression()
            && let Expression::StaticMemberExpression(method) = call.callee.get_inner_expression()
            && matches!(method.property.name.as_str(), "map" | "flatMap")
            && let [function] = call.arguments.as_slice()
            && let Some(function) = function.as_expression()
        {
            self.expression(&method.object, Fate::Unknown);
            self.callback(function, true);
        } else {
            self.expression(it, Fate::Unknown);
        }
    }

    /// A call of something that is no function of the program.
    fn named(&mut self, name: &IdentifierReference<'_>, it: &CallExpression<'_>) {
        let is_require = name.name == "require" && self.sketcher.survey.is_global("require");
        if is_require && !it.optional && !self.is_guarded {
            let at = self.sketcher.at(it.span);
            self.requires.push((self.body, Finding::new(FindingKind::Import, at, NO_MODULES)));
        }
    }
}

/// Whether a branch is not taken, or depends on nothing but what the author set.
fn is_out(condition: Condition, branch: bool) -> bool {
    match condition {
        Condition::Open => false,
        Condition::Always(value) => value != branch,
        Condition::Fixed => true,
    }
}

fn is_named(it: &Expression<'_>, name: &str) -> bool {
    matches!(it.get_inner_expression(), Expression::Identifier(it) if it.name == name)
}

impl<'a> Visit<'a> for Walk<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        self.statement(it);
    }

    fn visit_statements(&mut self, it: &oxc_allocator::Vec<'a, Statement<'a>>) {
        self.statements(it);
    }

    fn visit_ts_type(&mut self, _: &TSType<'a>) {}

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_class(&mut self, it: &Class<'a>) {
        let body = self.uses.body();
        let outer = std::mem::replace(&mut self.body, body);
        walk::walk_class(self, it);
        self.body = outer;
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        let body = match &it.id {
            BindingPattern::BindingIdentifier(id) => self.function_named(id.name.as_str()),
            _ => None,
        };
        match it.init.as_ref().map(Expression::get_inner_expression) {
            Some(Expression::ArrowFunctionExpression(it)) => self.arrow(it, body),
            Some(Expression::FunctionExpression(it)) => self.function(it, body),
            _ => walk::walk_variable_declarator(self, it),
        }
    }

    /// A function that is named without being called may be called by anybody.
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if let Some(body) = self.function_named(it.name.as_str()) {
            self.uses.add(body, self.body, false);
        }
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        let fate = std::mem::replace(&mut self.fate, Fate::Unknown);
        self.call(it, fate);
    }

    fn visit_expression(&mut self, it: &Expression<'a>) {
        let fate = std::mem::replace(&mut self.fate, Fate::Unknown);
        match it {
            Expression::AwaitExpression(it) => self.expression(&it.argument, Fate::PassedOn),
            Expression::ParenthesizedExpression(it) => self.expression(&it.expression, fate),
            Expression::TSAsExpression(it) => self.expression(&it.expression, fate),
            Expression::TSSatisfiesExpression(it) => self.expression(&it.expression, fate),
            Expression::TSNonNullExpression(it) => self.expression(&it.expression, fate),
            Expression::ChainExpression(it) => {
                // An optional call gives nothing where there is nothing to call.
                let fate = if fate == Fate::Dropped { Fate::Unknown } else { fate };
                self.fate = fate;
                self.visit_chain_element(&it.expression);
                self.fate = Fate::Unknown;
            }
            Expression::ConditionalExpression(it) => {
                self.expression(&it.test, Fate::Unknown);
                let condition = self.condition(&it.test, 0);
                let fate = passed_on_only(fate);
                self.guarded(is_out(condition, true), |walk| walk.expression(&it.consequent, fate));
                self.guarded(is_out(condition, false), |walk| walk.expression(&it.alternate, fate));
            }
            Expression::LogicalExpression(it) => {
                self.expression(&it.left, Fate::Unknown);
                let is_fixed = self.condition(&it.left, 0) != Condition::Open;
                let fate = passed_on_only(fate);
                self.guarded(is_fixed, |walk| walk.expression(&it.right, fate));
            }
            Expression::CallExpression(it) => self.call(it, fate),
            Expression::ArrowFunctionExpression(it) => self.arrow(it, None),
            Expression::FunctionExpression(it) => self.function(it, None),
            _ => walk::walk_expression(self, it),
        }
    }
}

fn passed_on_only(fate: Fate) -> Fate {
    if fate == Fate::PassedOn { fate } else { Fate::Unknown }
}
