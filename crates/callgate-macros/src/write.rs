//! The code that is written beside the function.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::function::{Parameter, ToolFunction, conditions};
use crate::options::Options;

/// The function, a struct of the same name, and its `tool()`.
///
/// The struct has braces, so that it takes the name among the types only.
pub(crate) fn tool(function: &ToolFunction, options: &Options) -> TokenStream {
    let item = function.item();
    let kept = function.kept();
    let (vis, ident) = (&item.vis, &item.sig.ident);
    let conditions = conditions(item);
    let about_struct = format!("The tool made of the function [`{ident}`](fn@{ident}).");
    let about_tool = format!("The definition of the tool made of [`{ident}`](fn@{ident}).");
    let callgate = &options.callgate;
    let body = definition(function, options);
    quote! {
        // A tool owns its arguments, and may be async whether or not it waits.
        #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
        #kept

        #conditions
        #[doc = #about_struct]
        #[allow(non_camel_case_types, missing_debug_implementations)]
        #vis struct #ident {}

        #conditions
        impl #ident {
            #[doc = #about_tool]
            #[must_use]
            #[allow(deprecated, unused_imports, unused_mut)]
            #vis fn tool() -> #callgate::ToolDefinition {
                #body
            }
        }
    }
}

/// The body of `tool()`.
fn definition(function: &ToolFunction, options: &Options) -> TokenStream {
    let callgate = &options.callgate;
    let private = quote!(#callgate::__private);
    let ident = &function.item().sig.ident;
    let name = options.name.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    let documentation = &function.documentation;
    let [tool, ending, input] = ["tool", "ending", "input"].map(local);
    let slots: Vec<Ident> =
        (0..function.parameters.len()).map(|index| local(&format!("slot_{index}"))).collect();
    let declared = function.parameters.iter().zip(&slots).map(|(parameter, slot)| {
        let call = declaration(&tool, parameter);
        quote!(let #slot = #call;)
    });
    let returns = &function.returns;
    let at = returns.span();
    let there = placed(&private, at);
    let asked = quote_spanned!(at=> #there::Return::<#returns>::of().declare());
    let wait = function.item().sig.asyncness.map(|_| quote!(.await));
    let settings = settings(options);
    quote! {
        use #private::PlainReturn as _;
        let mut #tool = #private::Function::new(#name, &[#(#documentation),*]);
        #(#declared)*
        let #ending = #asked;
        #tool.build(#ending, move |#input| async move {
            #(let #slots = #slots.read(&#input)?;)*
            #ending.settle(&#input, #ident(#(#slots),*) #wait)
        })
        #settings
    }
}

fn declaration(tool: &Ident, parameter: &Parameter) -> TokenStream {
    let Parameter { name, documentation, ty } = parameter;
    let name = name.unraw().to_string();
    quote_spanned!(ty.span()=> #tool.parameter::<#ty>(#name, &[#(#documentation),*]))
}

fn settings(options: &Options) -> TokenStream {
    let safe = options.concurrency_safe.then(|| quote!(.concurrency_safe()));
    let repeatable = options.repeatable.then(|| quote!(.repeatable()));
    let timeout = options
        .timeout_ms
        .map(|budget| quote!(.timeout(::core::time::Duration::from_millis(#budget))));
    quote!(#safe #repeatable #timeout)
}

/// A path whose errors point there.
fn placed(path: &TokenStream, span: Span) -> TokenStream {
    let tokens = path.clone().into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    tokens.collect()
}

/// A local variable that no name of the author's can meet.
fn local(name: &str) -> Ident {
    let mut ident = format_ident!("{name}");
    ident.set_span(Span::mixed_site());
    ident
}
