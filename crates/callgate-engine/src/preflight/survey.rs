//! What has to be known of the whole program before any of its calls can be judged.

use std::collections::{HashMap, HashSet};

use callgate_schema::Json;
use oxc_ast::ast::{
    BindingIdentifier, BindingPattern, CallExpression, ComputedMemberExpression, Expression,
    Function, IdentifierReference, Program, SimpleAssignmentTarget, Statement,
    StaticMemberExpression, TSClassImplements, TSType, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};

use super::literals;
use crate::strip::is_type_only;

/// Facts about names.
pub(super) struct Survey {
    global: String,
    /// How often a name is declared, anywhere.
    declared: HashMap<String, u32>,
    assigned: HashSet<String>,
    /// What the one declaration of a name gives it, if that is a literal.
    literals: HashMap<String, Json>,
    /// Names whose one declaration makes a function, and whether that is a generator.
    functions: HashMap<String, bool>,
    /// Members of the global object that are looked at without being called.
    looked_at: HashSet<String>,
    /// Whether the global object is used for anything else than calling its members.
    escapes: bool,
}

impl Survey {
    pub(super) fn of(program: &Program<'_>, global: &str) -> Self {
        let mut survey = Self {
            global: global.to_owned(),
            declared: HashMap::new(),
            assigned: HashSet::new(),
            literals: HashMap::new(),
            functions: HashMap::new(),
            looked_at: HashSet::new(),
            escapes: false,
        };
        survey.visit_program(program);
        survey
    }

    /// Whether a name is the one that the program found in its global scope.
    pub(super) fn is_global(&self, name: &str) -> bool {
        !self.declared.contains_key(name) && !self.assigned.contains(name)
    }

    /// Whether a name has one value for good.
    fn is_constant(&self, name: &str) -> bool {
        self.declared.get(name) == Some(&1) && !self.assigned.contains(name)
    }

    /// The literal that a name always stands for.
    pub(super) fn literal(&self, name: &str) -> Option<&Json> {
        self.literals.get(name).filter(|_| self.is_constant(name))
    }

    /// The functions that have a name for good, each with whether it is a generator.
    pub(super) fn functions(&self) -> impl Iterator<Item = (&str, bool)> {
        let functions = self.functions.iter().filter(|(name, _)| self.is_constant(name));
        functions.map(|(name, is_generator)| (&**name, *is_generator))
    }

    /// Whether the program asks, somewhere, whether the member is there.
    pub(super) fn is_tested(&self, member: &str) -> bool {
        self.escapes || self.looked_at.contains(member)
    }

    /// Whether a value is the global object whose members are tools.
    pub(super) fn is_namespace(&self, it: &Expression<'_>) -> bool {
        matches!(it.get_inner_expression(), Expression::Identifier(it) if it.name == self.global.as_str())
    }

    /// A member is read: all the same what for.
    fn look_at(&mut self, member: Option<&str>) {
        match member {
            Some(member) => {
                self.looked_at.insert(member.to_owned());
            }
            None => self.escapes = true,
        }
    }
}

impl<'a> Visit<'a> for Survey {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        match it {
            _ if is_type_only(it) => {}
            Statement::FunctionDeclaration(function) => {
                self.function(function);
                walk::walk_statement(self, it);
            }
            _ => walk::walk_statement(self, it),
        }
    }

    fn visit_ts_type(&mut self, _: &TSType<'a>) {}

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        *self.declared.entry(it.name.to_string()).or_default() += 1;
    }

    fn visit_simple_assignment_target(&mut self, it: &SimpleAssignmentTarget<'a>) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(it) = it {
            self.assigned.insert(it.name.to_string());
        }
        walk::walk_simple_assignment_target(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(name), Some(init)) = (&it.id, &it.init) {
            match init.get_inner_expression() {
                Expression::ArrowFunctionExpression(_) => {
                    self.functions.insert(name.name.to_string(), false);
                }
                Expression::FunctionExpression(it) => {
                    self.functions.insert(name.name.to_string(), it.generator);
                }
                init => {
                    if let Some(literal) = literals::constant(init) {
                        self.literals.insert(name.name.to_string(), literal);
                    }
                }
            }
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if it.name == self.global.as_str() {
            self.escapes = true;
        }
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        match it.callee.get_inner_expression() {
            Expression::StaticMemberExpression(member) if self.is_namespace(&member.object) => {
                if it.optional {
                    self.look_at(Some(member.property.name.as_str()));
                }
            }
            Expression::ComputedMemberExpression(member) if self.is_namespace(&member.object) => {
                if it.optional {
                    self.look_at(literals::name(&member.expression));
                }
                self.visit_expression(&member.expression);
            }
            _ => self.visit_expression(&it.callee),
        }
        self.visit_arguments(&it.arguments);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if self.is_namespace(&it.object) {
            self.look_at(Some(it.property.name.as_str()));
        } else {
            walk::walk_static_member_expression(self, it);
        }
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        if self.is_namespace(&it.object) {
            self.look_at(literals::name(&it.expression));
            self.visit_expression(&it.expression);
        } else {
            walk::walk_computed_member_expression(self, it);
        }
    }
}

impl Survey {
    fn function(&mut self, it: &Function<'_>) {
        if let Some(id) = &it.id {
            self.functions.insert(id.name.to_string(), it.generator);
        }
    }
}
