//! A function that becomes a tool: what is read from it, and which functions cannot become one.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, FnArg, Ident, Item, ItemFn, Meta, Pat, PatType, ReturnType, Signature, Type,
    parse_quote,
};

use crate::Problems;

/// Attributes of parameters that mean the same on the function that is kept.
const KEPT_ON_PARAMETERS: [&str; 4] = ["allow", "expect", "warn", "deny"];

/// A function and what the tool needs to know about it.
pub(crate) struct ToolFunction {
    item: ItemFn,
    /// The lines of its doc comment.
    pub(crate) documentation: Vec<Expr>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Type,
}

const NO_FUNCTION: &str = "`#[tool]` makes a tool of a function with a body; for a struct, \
     implement `callgate::Tool`";

pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) documentation: Vec<Expr>,
    pub(crate) ty: Type,
}

impl ToolFunction {
    pub(crate) fn parse(item: TokenStream) -> syn::Result<Self> {
        let mut item = match syn::parse2(item)? {
            Item::Fn(function) => function,
            other => return Err(syn::Error::new(other.span(), NO_FUNCTION)),
        };
        let mut problems = Problems::default();
        check_signature(&item.sig, &mut problems);
        let documentation = documentation(&item.attrs);
        if documentation.is_empty() {
            let message = "a tool needs a doc comment: it is the description by which a model \
                           chooses the tool";
            problems.add(syn::Error::new(item.sig.ident.span(), message));
        }
        let parameters: Vec<_> = item
            .sig
            .inputs
            .iter_mut()
            .filter_map(|input| problems.note(Parameter::parse(input)))
            .collect();
        let returns = problems.note(returned(&item.sig.output));
        problems.or(())?;
        Ok(Self {
            documentation,
            parameters,
            returns: returns.unwrap_or_else(|| parse_quote!(())),
            item,
        })
    }

    pub(crate) fn item(&self) -> &ItemFn {
        &self.item
    }

    /// The function itself, as its author calls it.
    pub(crate) fn kept(&self) -> TokenStream {
        self.item.to_token_stream()
    }
}

/// The item without what the compiler does not take in it, so that it can stand beside errors.
pub(crate) fn without_parameter_attributes(item: TokenStream) -> TokenStream {
    match syn::parse2::<ItemFn>(item.clone()) {
        Ok(mut function) => {
            for input in &mut function.sig.inputs {
                match input {
                    FnArg::Receiver(receiver) => receiver.attrs.clear(),
                    FnArg::Typed(parameter) => parameter.attrs.clear(),
                }
            }
            function.to_token_stream()
        }
        Err(_) => item,
    }
}

fn check_signature(signature: &Signature, problems: &mut Problems) {
    if !signature.generics.params.is_empty() || signature.generics.where_clause.is_some() {
        let message = "a tool has one schema, so its function cannot be generic; name the types";
        problems.add(syn::Error::new(generics_span(signature), message));
    }
    if let Some(unsafety) = &signature.unsafety {
        let message = "a tool is called with whatever a model sends; its function must be safe";
        problems.add(syn::Error::new(unsafety.span(), message));
    }
    if let Some(abi) = &signature.abi {
        problems.add(syn::Error::new(abi.span(), "a tool is an ordinary Rust function"));
    }
    if let Some(variadic) = &signature.variadic {
        problems.add(syn::Error::new(variadic.span(), "a tool has a fixed list of parameters"));
    }
}

fn generics_span(signature: &Signature) -> proc_macro2::Span {
    let generics = &signature.generics;
    match (generics.params.first(), &generics.where_clause) {
        (Some(first), _) => first.span(),
        (None, Some(clause)) => clause.span(),
        (None, None) => signature.ident.span(),
    }
}

impl Parameter {
    /// Reads a parameter and takes away what only the tool understands.
    fn parse(input: &mut FnArg) -> syn::Result<Self> {
        let parameter = match input {
            FnArg::Typed(parameter) => parameter,
            FnArg::Receiver(receiver) => {
                let message = "a tool is a free function; for a struct with state, implement \
                               `callgate::Tool`";
                return Err(syn::Error::new(receiver.span(), message));
            }
        };
        let mut problems = Problems::default();
        let documentation = documentation(&parameter.attrs);
        for attribute in &parameter.attrs {
            if !is_doc(attribute) && !is_kept(attribute) {
                problems.add(syn::Error::new(attribute.span(), UNKNOWN_ATTRIBUTE));
            }
        }
        parameter.attrs.retain(is_kept);
        let name = problems.note(name(parameter));
        problems.note(check_type(&parameter.ty));
        let ty = (*parameter.ty).clone();
        match name {
            Some(name) => problems.or(Self { name, documentation, ty }),
            None => Err(problems.or(()).err().unwrap_or_else(|| unnamed(&parameter.pat))),
        }
    }
}

const UNKNOWN_ATTRIBUTE: &str = "only doc comments and lint levels can stand on the parameter of a \
     tool; for more, take one struct with `ToolDefinition::typed`";

fn name(parameter: &PatType) -> syn::Result<Ident> {
    match &*parameter.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Ok(pattern.ident.clone())
        }
        pattern => Err(unnamed(pattern)),
    }
}

fn unnamed(pattern: &Pat) -> syn::Error {
    let message = "a model sends arguments by name; give the parameter one, and take it apart in \
                   the body";
    syn::Error::new(pattern.span(), message)
}

fn check_type(ty: &Type) -> syn::Result<()> {
    match ty {
        Type::Reference(reference) => Err(syn::Error::new(
            reference.span(),
            "a tool owns its arguments; take `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`",
        )),
        Type::ImplTrait(any) => Err(syn::Error::new(
            any.span(),
            "a tool has one schema, so its function cannot be generic; name the type",
        )),
        _ => Ok(()),
    }
}

fn returned(output: &ReturnType) -> syn::Result<Type> {
    match output {
        ReturnType::Default => Ok(parse_quote!(())),
        ReturnType::Type(_, ty) => match &**ty {
            Type::ImplTrait(any) => {
                let message = "the schema of a tool comes from the type it returns; name the type";
                Err(syn::Error::new(any.span(), message))
            }
            ty => Ok(ty.clone()),
        },
    }
}

/// The values of `doc` attributes: literals, or macros such as `include_str!`.
fn documentation(attributes: &[Attribute]) -> Vec<Expr> {
    let docs = attributes.iter().filter(|attribute| is_doc(attribute));
    docs.filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(doc) => Some(doc.value.clone()),
        _ => None,
    })
    .collect()
}

fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn is_kept(attribute: &Attribute) -> bool {
    KEPT_ON_PARAMETERS.iter().any(|name| attribute.path().is_ident(name))
}

/// The attributes under which the tool exists exactly when its function does.
pub(crate) fn conditions(item: &ItemFn) -> TokenStream {
    let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    quote!(#(#conditions)*)
}
