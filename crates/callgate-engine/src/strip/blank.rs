//! The visitor that turns types into spaces and refuses what cannot be erased.

use oxc_ast::ast::{
    AccessorProperty, AccessorPropertyType, ArrowFunctionExpression, BinaryExpression,
    BinaryOperator, Class, ClassElement, Decorator, Expression, FormalParameter, Hashbang,
    ImportExpression, ImportMeta, MethodDefinition, Program, PropertyDefinition,
    PropertyDefinitionType, Statement, TSAsExpression, TSClassImplements, TSNonNullExpression,
    TSSatisfiesExpression, TSThisParameter, TSTypeAnnotation, TSTypeAssertion,
    TSTypeParameterDeclaration, TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::Finding;

/// The program with every type replaced by spaces.
pub(super) fn blank_out(source: &str, program: &Program<'_>) -> Result<String, Vec<Finding>> {
    let mut blanker = Blanker {
        source: source.as_bytes(),
        output: source.as_bytes().to_vec(),
        findings: Vec::new(),
    };
    blanker.visit_program(program);
    if !blanker.findings.is_empty() {
        return Err(blanker.findings);
    }
    String::from_utf8(blanker.output)
        .map_err(|_| vec![(0, "the text cannot be kept as UTF-8".to_owned())])
}

struct Blanker<'s> {
    source: &'s [u8],
    /// The source with ASCII in place of what was erased; always as long as the source.
    output: Vec<u8>,
    findings: Vec<Finding>,
}

impl<'a> Visit<'a> for Blanker<'_> {
    fn visit_hashbang(&mut self, it: &Hashbang<'a>) {
        self.blank(it.span);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if is_type_only(it) {
            return self.erase(it.span());
        }
        if let Some(advice) = refused_statement(it) {
            return self.refuse(it.span(), advice);
        }
        walk::walk_statement(self, it);
        self.end_with_semicolon(it.span());
    }

    // Types.

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span);
    }

    // Expressions.

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(Span::new(it.expression.span().end, it.span.end));
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(Span::new(it.expression.span().end, it.span.end));
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(Span::new(it.expression.span().end, it.span.end));
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.refuse(it.span, "`<T>x` cannot be erased here: write `x as T`".to_owned());
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        if would_regroup(it) {
            let message = "without the type these operators would group differently: put the cast in parentheses";
            self.refuse(it.left.span(), message.to_owned());
        }
        walk::walk_binary_expression(self, it);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.refuse(it.span, NO_MODULES.to_owned());
    }

    fn visit_import_meta(&mut self, it: &ImportMeta) {
        self.refuse(it.span, NO_MODULES.to_owned());
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "decorators do not work here: call the function instead".to_owned());
    }

    // Functions.

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank(it.span);
        let after = self.skip_trivia(it.span.end);
        if self.source.get(after as usize) == Some(&b',') {
            self.blank(Span::new(it.span.end, after + 1));
        }
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            let message = "a parameter property needs code to be generated: declare the field and assign it in the \
                           constructor, `this.x = x`";
            return self.refuse(it.span, message.to_owned());
        }
        walk::walk_formal_parameter(self, it);
        if it.optional {
            self.blank_mark(it.pattern.span().end, b"?");
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        let params = it.params.span;
        if let Some(types) = &it.type_parameters
            && self.has_newline(Span::new(types.span.start, params.start))
        {
            self.move_char(params.start, types.span.start);
        }
        if let Some(types) = &it.return_type
            && self.has_newline(Span::new(params.end, types.span.end))
        {
            self.blank(Span::new(params.end, types.span.end));
            self.move_char(params.end - 1, types.span.end - 1);
        }
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        walk::walk_variable_declarator(self, it);
        if it.definite {
            self.blank_mark(it.id.span().end, b"!");
        }
    }

    // Classes.

    fn visit_class(&mut self, it: &Class<'a>) {
        walk::walk_class(self, it);
        let head = Span::new(it.span.start, it.body.span.start);
        if it.r#abstract {
            self.blank_words(head, &["abstract"]);
        }
        if let Some(last) = it.implements.last() {
            let named = it
                .heritage
                .as_ref()
                .map(|it| it.type_arguments.as_ref().map_or(it.expression.span(), |it| it.span));
            let named = named
                .or(it.type_parameters.as_ref().map(|it| it.span))
                .or(it.id.as_ref().map(|it| it.span));
            let before = named.map_or_else(
                || self.find_word(it.span.start, b"implements"),
                |it| self.skip_trivia(it.end),
            );
            self.blank(Span::new(before, last.span.end));
        }
    }

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        if is_type_only_element(it) {
            return self.erase(it.span());
        }
        walk::walk_class_element(self, it);
        if matches!(it, ClassElement::PropertyDefinition(_)) {
            self.end_with_semicolon(it.span());
        }
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        walk::walk_method_definition(self, it);
        self.blank_modifiers(it.span.start, it.key.span().start);
        if it.optional {
            self.blank_mark(it.key.span().end, b"?");
        }
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        walk::walk_property_definition(self, it);
        self.blank_modifiers(it.span.start, it.key.span().start);
        if it.optional || it.definite {
            self.blank_mark(it.key.span().end, b"?!");
        }
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.refuse(
            it.span,
            "`accessor` fields do not work here: write `get` and `set`".to_owned(),
        );
    }
}

pub(crate) const NO_MODULES: &str =
    "a program has no modules to import: use the language itself, or call a tool";
const NO_EXPORTS: &str =
    "nothing can import from a program: leave `export` out, and `return` what it should give back";

/// Whether a statement says nothing at run time.
pub(crate) fn is_type_only(it: &Statement<'_>) -> bool {
    match it {
        Statement::TSTypeAliasDeclaration(_)
        | Statement::TSInterfaceDeclaration(_)
        | Statement::TSGlobalDeclaration(_) => true,
        Statement::TSExternalModuleDeclaration(it) => it.declare,
        Statement::TSNamespaceDeclaration(it) => it.declare,
        Statement::VariableDeclaration(it) => it.declare,
        Statement::ClassDeclaration(it) => it.declare,
        Statement::FunctionDeclaration(it) => it.declare || it.body.is_none(),
        _ => false,
    }
}

/// What to write instead of a statement that cannot be erased.
fn refused_statement(it: &Statement<'_>) -> Option<String> {
    let advice = match it {
        Statement::TSEnumDeclaration(it) => {
            return Some(format!(
                "`enum` needs code to be generated: write `const {0} = {{ A: \"a\", B: \"b\" }} as const` and \
                 `type {0} = (typeof {0})[keyof typeof {0}]`",
                it.id.name
            ));
        }
        Statement::TSNamespaceDeclaration(_) | Statement::TSExternalModuleDeclaration(_) => {
            "a namespace needs code to be generated: write an object or plain functions"
        }
        Statement::TSImportEqualsDeclaration(_) | Statement::ImportDeclaration(_) => NO_MODULES,
        Statement::ExportAllDeclaration(_)
        | Statement::ExportDefaultDeclaration(_)
        | Statement::ExportDeclaration(_)
        | Statement::ExportNamedDeclaration(_)
        | Statement::ExportFromDeclaration(_)
        | Statement::TSExportAssignment(_)
        | Statement::TSNamespaceExportDeclaration(_) => NO_EXPORTS,
        _ => return None,
    };
    Some(advice.to_owned())
}

fn is_type_only_element(it: &ClassElement<'_>) -> bool {
    match it {
        ClassElement::TSIndexSignature(_) => true,
        ClassElement::MethodDefinition(it) => it.value.body.is_none(),
        ClassElement::PropertyDefinition(it) => {
            it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
        }
        ClassElement::AccessorProperty(it) => {
            it.r#type == AccessorPropertyType::TSAbstractAccessorProperty
        }
        ClassElement::StaticBlock(_) => false,
    }
}

/// Whether this is something like `a < b as T + c`, where only the cast keeps the left side together.
fn would_regroup(it: &BinaryExpression<'_>) -> bool {
    let Some(mut inner) = cast_of(&it.left) else { return false };
    while let Some(cast) = cast_of(inner) {
        inner = cast;
    }
    match inner {
        Expression::BinaryExpression(left) => {
            it.operator == BinaryOperator::Exponential
                || strength(it.operator) > strength(left.operator)
        }
        Expression::UnaryExpression(_) => it.operator == BinaryOperator::Exponential,
        _ => false,
    }
}

/// How strongly an operator binds, compared with others.
fn strength(operator: BinaryOperator) -> u8 {
    match operator {
        BinaryOperator::Exponential => 6,
        BinaryOperator::Multiplication | BinaryOperator::Division | BinaryOperator::Remainder => 5,
        BinaryOperator::Addition | BinaryOperator::Subtraction => 4,
        operator if operator.is_bitshift() => 3,
        operator if operator.is_relational() || operator.is_compare() => 2,
        operator if operator.is_equality() => 1,
        _ => 0,
    }
}

fn cast_of<'b, 'a>(it: &'b Expression<'a>) -> Option<&'b Expression<'a>> {
    match it {
        Expression::TSAsExpression(it) => Some(&it.expression),
        Expression::TSSatisfiesExpression(it) => Some(&it.expression),
        _ => None,
    }
}

impl Blanker<'_> {
    fn refuse(&mut self, span: Span, message: String) {
        self.findings.push((span.start, message));
    }

    /// Turns a part into spaces; line breaks stay.
    fn blank(&mut self, span: Span) {
        let (mut at, end) = (span.start as usize, span.end as usize);
        while at < end {
            let line_break = line_break_len(&self.source[at..end]);
            if line_break == 0 {
                self.output[at] = b' ';
            }
            at += line_break.max(1);
        }
    }

    /// Turns a whole statement or class element into spaces, with a semicolon in front: what stood before it without
    /// one must not run on into what follows.
    fn erase(&mut self, span: Span) {
        self.blank(span);
        self.output[span.start as usize] = b';';
    }

    /// Closes a statement whose last token was erased: what follows on the next line must not continue it.
    fn end_with_semicolon(&mut self, span: Span) {
        let (start, end) = (span.start as usize, span.end as usize);
        if self.output[end - 1] != b' ' {
            return;
        }
        let blank = self.output[start..end]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let erased = (end - blank..end).find(|at| !self.source[*at].is_ascii_whitespace());
        if let Some(at) = erased {
            self.output[at] = b';';
        }
    }

    /// Moves a bracket, blanking where it was.
    fn move_char(&mut self, from: u32, to: u32) {
        let byte = self.source[from as usize];
        self.output[from as usize] = b' ';
        self.output[to as usize] = byte;
    }

    fn has_newline(&self, span: Span) -> bool {
        let part = &self.source[span.start as usize..span.end as usize];
        (0..part.len()).any(|at| line_break_len(&part[at..]) > 0)
    }

    /// Blanks the one of `marks` that follows a name, past the bracket of a computed one.
    fn blank_mark(&mut self, from: u32, marks: &[u8]) {
        let mut at = self.skip_trivia(from);
        while self.source.get(at as usize) == Some(&b']') {
            at = self.skip_trivia(at + 1);
        }
        if self.source.get(at as usize).is_some_and(|byte| marks.contains(byte)) {
            self.output[at as usize] = b' ';
        }
    }

    /// Blanks the modifiers in front of the key of a class element.
    fn blank_modifiers(&mut self, start: u32, key: u32) {
        const MODIFIERS: [&str; 7] =
            ["public", "private", "protected", "readonly", "override", "abstract", "declare"];
        self.blank_words(Span::new(start, key), &MODIFIERS);
        if self.output[start as usize] == b' ' {
            self.output[start as usize] = b';';
        }
    }

    fn blank_words(&mut self, span: Span, words: &[&str]) {
        let mut at = self.skip_trivia(span.start);
        while at < span.end {
            let rest = &self.source[at as usize..span.end as usize];
            let len = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let end = at + u32::try_from(len.max(1)).unwrap_or(1);
            if words.iter().any(|word| word.as_bytes() == &rest[..len]) {
                self.blank(Span::new(at, end));
            }
            at = self.skip_trivia(end);
        }
    }

    /// The start of a word that comes after other words only.
    fn find_word(&self, from: u32, word: &[u8]) -> u32 {
        let mut at = self.skip_trivia(from);
        while let Some(rest) = self.source.get(at as usize..).filter(|rest| !rest.starts_with(word))
        {
            let len = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            at = self.skip_trivia(at + u32::try_from(len.max(1)).unwrap_or(1));
        }
        at
    }

    /// The next byte that is neither white space nor in a comment.
    fn skip_trivia(&self, from: u32) -> u32 {
        let mut at = from as usize;
        while let Some(rest) = self.source.get(at..).filter(|rest| !rest.is_empty()) {
            at += match rest {
                [b'/', b'/', ..] => {
                    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
                }
                [b'/', b'*', ..] => {
                    rest.windows(2).position(|end| end == b"*/").map_or(rest.len(), |end| end + 2)
                }
                [byte, ..] if byte.is_ascii_whitespace() => 1,
                [0xe2, 0x80, 0xa8 | 0xa9, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
                [0xc2, 0xa0, ..] => 2,
                _ => break,
            };
        }
        u32::try_from(at).unwrap_or(from)
    }
}

/// The length of the line break at the start of a part, if there is one.
fn line_break_len(part: &[u8]) -> usize {
    match part {
        [b'\n' | b'\r', ..] => 1,
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
        _ => 0,
    }
}
