//! A parser descends once for every nested thing, so its stack must match what a text could nest.

/// Stack that one nested thing costs at most, parser and visitor together, with room to spare. Measured: 4.5 KB in a
/// debug build, 1.8 KB in a release build.
const BYTES_A_LEVEL: usize = if cfg!(debug_assertions) { 8 << 10 } else { 3 << 10 };
/// Stack that is needed whatever the text is.
const BASE: usize = 128 << 10;
/// What any thread of a program is taken to have left.
const ANY_THREAD: usize = 512 << 10;
/// Address space a parse may reserve at most. Pages that are not touched cost nothing.
const LARGEST: usize = 1 << 30;

/// Runs `parse` where there is enough stack for `source`: here, if `here` bytes are enough, else on a thread.
pub(super) fn with_stack_for<T: Send>(
    source: &str,
    here: usize,
    parse: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let needed = levels(source).saturating_mul(BYTES_A_LEVEL).saturating_add(BASE);
    if needed <= here.max(ANY_THREAD) {
        return Ok(parse());
    }
    if needed > LARGEST {
        return Err(too_deep());
    }
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().name("callgate-parse".to_owned()).stack_size(needed);
        let handle = thread.spawn_scoped(scope, parse).map_err(|_| too_deep())?;
        handle.join().map_err(|_| "the parser failed on this text".to_owned())
    })
}

fn too_deep() -> String {
    "the program is too large to be parsed safely; let a tool read large data instead of writing it into the program"
        .to_owned()
}

/// At most how deep a text can nest, by counting what a level cannot be made without: a bracket, an operator or a
/// keyword. Strings and comments are counted too: the count may only be too high.
fn levels(source: &str) -> usize {
    let mut levels = 0;
    let mut word = 0;
    let bytes = source.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | 0x80.. => continue,
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b';' | b')' | b']' | b'}' => {}
            _ => levels += 1,
        }
        levels += usize::from(is_keyword(&bytes[word..at]));
        word = at + 1;
    }
    levels + usize::from(is_keyword(bytes.get(word..).unwrap_or_default()))
}

/// Whether a word can open a level without a bracket or an operator.
fn is_keyword(word: &[u8]) -> bool {
    matches!(
        word,
        b"abstract"
            | b"as"
            | b"asserts"
            | b"async"
            | b"await"
            | b"case"
            | b"class"
            | b"const"
            | b"declare"
            | b"default"
            | b"delete"
            | b"do"
            | b"else"
            | b"export"
            | b"extends"
            | b"for"
            | b"function"
            | b"global"
            | b"if"
            | b"implements"
            | b"import"
            | b"in"
            | b"infer"
            | b"instanceof"
            | b"is"
            | b"keyof"
            | b"let"
            | b"module"
            | b"namespace"
            | b"new"
            | b"of"
            | b"readonly"
            | b"return"
            | b"satisfies"
            | b"static"
            | b"throw"
            | b"try"
            | b"type"
            | b"typeof"
            | b"unique"
            | b"using"
            | b"var"
            | b"void"
            | b"while"
            | b"with"
            | b"yield"
    )
}
