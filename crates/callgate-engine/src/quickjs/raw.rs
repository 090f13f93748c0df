//! The parts of `QuickJS` that `rquickjs` does not show, or shows in a way a hostile value can break.
//!
//! One of the two places of the project where `unsafe` is allowed. Everything here takes and returns owned `rquickjs`
//! values of one context, so that no reference count is handled anywhere else.
#![expect(
    unsafe_code,
    reason = "own keys with NULs and surrogates, descriptors, memory limits: no safe interface has them"
)]
#![expect(clippy::cast_ptr_alignment, reason = "memory blocks are aligned to 16 bytes")]

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ffi::{CString, c_int};
use std::mem::MaybeUninit;
use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::Allocator;
use rquickjs::{Ctx, Error, Function, Object, Promise, Result, Value, qjs};

/// Takes the exception out of a result, like every wrapper of `rquickjs` does.
fn own<'js>(ctx: &Ctx<'js>, value: qjs::JSValue) -> Result<Value<'js>> {
    // SAFETY: the caller got `value` from a function of this context that gives ownership away.
    unsafe {
        if qjs::JS_IsException(value) {
            return Err(Error::Exception);
        }
        Ok(Value::from_raw(ctx.clone(), value))
    }
}

fn check(status: c_int) -> Result<()> {
    if status < 0 { Err(Error::Exception) } else { Ok(()) }
}

/// A reference of its own, for functions that take one over.
fn duplicate(value: &Value<'_>) -> qjs::JSValue {
    // SAFETY: `value` is alive, and so is its context.
    unsafe { qjs::JS_DupValue(value.ctx().as_raw().as_ptr(), value.as_raw()) }
}

// Text.

/// Lends the bytes of a string: UTF-8, except that a lone surrogate is three bytes that UTF-8 does not have.
pub(super) fn with_string_bytes<R>(
    string: &rquickjs::String<'_>,
    then: impl FnOnce(&[u8]) -> R,
) -> Result<R> {
    let ctx = string.ctx().as_raw().as_ptr();
    let mut len = 0;
    // SAFETY: a string value converts without running code; the bytes live until they are freed, `then` ends before.
    unsafe {
        let bytes = qjs::JS_ToCStringLen2(ctx, &raw mut len, string.as_raw(), false);
        lend(ctx, bytes, len, then)
    }
}

/// # Safety
///
/// `bytes` is null or came from `ctx` with the length `len`.
unsafe fn lend<R>(
    ctx: *mut qjs::JSContext,
    bytes: *const qjs::c_char,
    len: qjs::size_t,
    then: impl FnOnce(&[u8]) -> R,
) -> Result<R> {
    struct Lent(*mut qjs::JSContext, *const qjs::c_char);
    impl Drop for Lent {
        fn drop(&mut self) {
            // SAFETY: this is the one place that frees them.
            unsafe { qjs::JS_FreeCString(self.0, self.1) }
        }
    }
    if bytes.is_null() {
        return Err(Error::Exception);
    }
    let lent = Lent(ctx, bytes);
    let len = usize::try_from(len).map_err(|_| Error::Unknown)?;
    // SAFETY: QuickJS wrote `len` bytes there.
    Ok(then(unsafe { std::slice::from_raw_parts(lent.1.cast(), len) }))
}

// Keys and properties.

/// The own keys of an object that is no proxy: indices first, then names, then symbols.
pub(super) struct Keys<'js> {
    ctx: Ctx<'js>,
    entries: *mut qjs::JSPropertyEnum,
    len: u32,
}

impl Drop for Keys<'_> {
    fn drop(&mut self) {
        // SAFETY: QuickJS gave this table away together with its atoms.
        unsafe { qjs::JS_FreePropertyEnum(self.ctx.as_raw().as_ptr(), self.entries, self.len) }
    }
}

/// Names and symbols, enumerable or not.
pub(super) fn own_keys<'js>(object: &Object<'js>) -> Result<Keys<'js>> {
    let (mut entries, mut len) = (ptr::null_mut(), 0);
    let flags = qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_SYMBOL_MASK;
    let ctx = object.ctx().clone();
    // SAFETY: all pointers are valid for the call; on success the table is ours.
    unsafe {
        check(qjs::JS_GetOwnPropertyNames(
            ctx.as_raw().as_ptr(),
            &raw mut entries,
            &raw mut len,
            object.as_raw(),
            flags.cast_signed(),
        ))?;
    }
    Ok(Keys { ctx, entries, len })
}

impl<'js> Keys<'js> {
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    fn entry(&self, at: usize) -> &qjs::JSPropertyEnum {
        assert!(at < self.len(), "keys are read within their number");
        // SAFETY: the table has `len` entries, and `at` is one of them.
        unsafe { &*self.entries.add(at) }
    }

    pub(super) fn is_enumerable(&self, at: usize) -> bool {
        self.entry(at).is_enumerable
    }

    /// Whether a key is that array index.
    pub(super) fn is_index(&self, at: usize, index: u32) -> bool {
        let ctx = self.ctx.as_raw().as_ptr();
        // SAFETY: the atom made here is freed here; equal keys have equal atoms.
        unsafe {
            let atom = qjs::JS_NewAtomUInt32(ctx, index);
            qjs::JS_FreeAtom(ctx, atom);
            atom == self.entry(at).atom
        }
    }

    /// The key as a value: a string, or a symbol.
    pub(super) fn value(&self, at: usize) -> Result<Value<'js>> {
        // SAFETY: the atom is alive as long as the table.
        own(&self.ctx, unsafe {
            qjs::JS_AtomToValue(self.ctx.as_raw().as_ptr(), self.entry(at).atom)
        })
    }

    /// Lends the bytes of a key that is no symbol; see [`with_string_bytes`].
    pub(super) fn with_bytes<R>(&self, at: usize, then: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let ctx = self.ctx.as_raw().as_ptr();
        let mut len = 0;
        // SAFETY: the atom is alive, the bytes are ours until freed.
        unsafe {
            let bytes = qjs::JS_AtomToCStringLen(ctx, &raw mut len, self.entry(at).atom);
            lend(ctx, bytes, len, then)
        }
    }

    /// Reads the property of that key. An accessor runs.
    pub(super) fn get(&self, object: &Object<'js>, at: usize) -> Result<Value<'js>> {
        let ctx = self.ctx.as_raw().as_ptr();
        // SAFETY: the atom is alive, the value is ours.
        own(&self.ctx, unsafe { qjs::JS_GetProperty(ctx, object.as_raw(), self.entry(at).atom) })
    }

    /// The own property of that key, without running anything. The object must be no proxy.
    pub(super) fn descriptor(
        &self,
        object: &Object<'js>,
        at: usize,
    ) -> Result<Option<Descriptor<'js>>> {
        descriptor_of(object, self.entry(at).atom)
    }
}

/// An own property.
pub(super) enum Descriptor<'js> {
    Data(Value<'js>),
    /// Whether there is a getter, and whether there is a setter.
    Accessor(bool, bool),
}

fn descriptor_of<'js>(object: &Object<'js>, atom: qjs::JSAtom) -> Result<Option<Descriptor<'js>>> {
    let ctx = object.ctx();
    let mut found = MaybeUninit::<qjs::JSPropertyDescriptor>::uninit();
    // SAFETY: when the call answers 1, the descriptor is filled in and its three values are ours.
    unsafe {
        let status = qjs::JS_GetOwnProperty(
            ctx.as_raw().as_ptr(),
            found.as_mut_ptr(),
            object.as_raw(),
            atom,
        );
        check(status)?;
        if status == 0 {
            return Ok(None);
        }
        let found = found.assume_init();
        let value = Value::from_raw(ctx.clone(), found.value);
        let getter = Value::from_raw(ctx.clone(), found.getter);
        let setter = Value::from_raw(ctx.clone(), found.setter);
        let accessor = found.flags & qjs::JS_PROP_GETSET.cast_signed() != 0;
        Ok(Some(if accessor {
            Descriptor::Accessor(!getter.is_undefined(), !setter.is_undefined())
        } else {
            Descriptor::Data(value)
        }))
    }
}

/// The own property of that name, without running anything. The object must be no proxy.
pub(super) fn own_property<'js>(
    object: &Object<'js>,
    name: &str,
) -> Result<Option<Descriptor<'js>>> {
    with_atom(object.ctx(), name, |atom| descriptor_of(object, atom))?
}

fn with_atom<R>(ctx: &Ctx<'_>, name: &str, then: impl FnOnce(qjs::JSAtom) -> R) -> Result<R> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the name is copied; the atom is freed after its last use. `then` does not unwind past the free in a way
    // that matters: a panic leaks one atom.
    unsafe {
        let atom = qjs::JS_NewAtomLen(raw, name.as_ptr().cast(), name.len() as qjs::size_t);
        if atom == qjs::JS_ATOM_NULL {
            return Err(Error::Exception);
        }
        let result = then(atom);
        qjs::JS_FreeAtom(raw, atom);
        Ok(result)
    }
}

/// How a property is defined.
#[derive(Clone, Copy)]
pub(super) enum Access {
    /// As an assignment makes it.
    Open,
    /// Writable and configurable, but not listed.
    Hidden,
    /// Listed, and fixed for good.
    Fixed,
}

impl Access {
    fn flags(self) -> c_int {
        let flags = match self {
            Self::Open => qjs::JS_PROP_C_W_E,
            Self::Hidden => qjs::JS_PROP_WRITABLE | qjs::JS_PROP_CONFIGURABLE,
            Self::Fixed => qjs::JS_PROP_ENUMERABLE,
        };
        flags.cast_signed()
    }
}

/// Defines an own property, whatever the name: no setter runs, `__proto__` is a key like any other.
pub(super) fn define<'js>(
    object: &Object<'js>,
    name: &str,
    value: &Value<'js>,
    access: Access,
) -> Result<()> {
    let ctx = object.ctx().as_raw().as_ptr();
    with_atom(object.ctx(), name, |atom| {
        // SAFETY: the call takes over the reference made here, also when it fails.
        check(unsafe {
            qjs::JS_DefinePropertyValue(
                ctx,
                object.as_raw(),
                atom,
                duplicate(value),
                access.flags(),
            )
        })
    })?
}

/// Reads an element of an array or of another indexed object. An accessor runs.
pub(super) fn element<'js>(object: &Object<'js>, index: u32) -> Result<Value<'js>> {
    let ctx = object.ctx();
    // SAFETY: the value is ours.
    own(ctx, unsafe { qjs::JS_GetPropertyUint32(ctx.as_raw().as_ptr(), object.as_raw(), index) })
}

/// Makes an object as fixed as `Object.freeze` does.
pub(super) fn freeze(object: &Object<'_>) -> Result<()> {
    // SAFETY: the object is alive.
    check(unsafe { qjs::JS_FreezeObject(object.ctx().as_raw().as_ptr(), object.as_raw()) })
}

// New values.

/// A dense array.
pub(super) fn new_array<'js>(ctx: &Ctx<'js>, items: &[Value<'js>]) -> Result<Value<'js>> {
    let count = c_int::try_from(items.len()).map_err(|_| Error::Unknown)?;
    let items: Vec<qjs::JSValue> = items.iter().map(duplicate).collect();
    // SAFETY: the call takes over the references made here.
    own(ctx, unsafe { qjs::JS_NewArrayFrom(ctx.as_raw().as_ptr(), count, items.as_ptr()) })
}

/// A number, kept as a small integer where that is the same.
pub(super) fn new_number<'js>(ctx: &Ctx<'js>, value: f64) -> Value<'js> {
    // SAFETY: numbers have no reference count.
    unsafe { Value::from_raw(ctx.clone(), qjs::JS_NewFloat64(value)) }
}

/// An error object that has no stack yet: it gets the one of the place that throws it.
pub(super) fn new_error<'js>(like: &Object<'js>, prototype: &Object<'js>) -> Result<Object<'js>> {
    let ctx = like.ctx();
    // SAFETY: `like` is an error, so its class is the one of errors.
    let error = unsafe {
        let class = qjs::JS_GetClassID(like.as_raw());
        qjs::JS_NewObjectProtoClass(ctx.as_raw().as_ptr(), prototype.as_raw(), class)
    };
    own(ctx, error)?.into_object().ok_or(Error::Unknown)
}

/// What a settled promise holds.
pub(super) fn promise_result<'js>(promise: &Promise<'js>) -> Result<Value<'js>> {
    let ctx = promise.ctx();
    // SAFETY: the promise is alive, the value is ours.
    own(ctx, unsafe { qjs::JS_PromiseResult(ctx.as_raw().as_ptr(), promise.as_raw()) })
}

/// A whole number outside the range of exact doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    Signed(i64),
    Unsigned(u64),
}

pub(super) fn new_bigint<'js>(ctx: &Ctx<'js>, value: Wide) -> Result<Value<'js>> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the value is ours.
    own(ctx, unsafe {
        match value {
            Wide::Signed(value) => qjs::JS_NewBigInt64(raw, value),
            Wide::Unsigned(value) => qjs::JS_NewBigUint64(raw, value),
        }
    })
}

/// The value of a bigint that fits 64 bits.
pub(super) fn bigint(value: &Value<'_>) -> Result<Option<Wide>> {
    let ctx = value.ctx();
    let raw = ctx.as_raw().as_ptr();
    let (mut signed, mut unsigned) = (0_i64, 0_u64);
    // SAFETY: the value is a bigint, so that both conversions only wrap around.
    unsafe {
        check(qjs::JS_ToBigInt64(raw, &raw mut signed, value.as_raw()))?;
        check(qjs::JS_ToBigUint64(raw, &raw mut unsigned, value.as_raw()))?;
    }
    for wide in [Wide::Signed(signed), Wide::Unsigned(unsigned)] {
        let same = new_bigint(ctx, wide)?;
        // SAFETY: both values are alive.
        if unsafe { qjs::JS_IsStrictEqual(raw, same.as_raw(), value.as_raw()) } {
            return Ok(Some(wide));
        }
    }
    Ok(None)
}

// Kinds of objects.

/// Objects of the language that are no plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exotic {
    Date,
    RegExp,
    Map,
    Set,
    WeakMap,
    WeakSet,
    WeakRef,
    TypedArray,
    ArrayBuffer,
    DataView,
}

pub(super) fn exotic(object: &Object<'_>) -> Option<Exotic> {
    let raw = object.as_raw();
    // SAFETY: these tests look at the class of a living value only.
    unsafe {
        Some(match () {
            () if qjs::JS_IsDate(raw) => Exotic::Date,
            () if qjs::JS_IsRegExp(raw) => Exotic::RegExp,
            () if qjs::JS_IsMap(raw) => Exotic::Map,
            () if qjs::JS_IsSet(raw) => Exotic::Set,
            () if qjs::JS_IsWeakMap(raw) => Exotic::WeakMap,
            () if qjs::JS_IsWeakSet(raw) => Exotic::WeakSet,
            () if qjs::JS_IsWeakRef(raw) => Exotic::WeakRef,
            () if qjs::JS_GetTypedArrayType(raw) >= 0 => Exotic::TypedArray,
            () if qjs::JS_IsArrayBuffer(raw) => Exotic::ArrayBuffer,
            () if qjs::JS_IsDataView(raw) => Exotic::DataView,
            () => return None,
        })
    }
}

/// Whether an object is of the same class of the engine as another.
pub(super) fn same_class(one: &Object<'_>, other: &Object<'_>) -> bool {
    // SAFETY: both are alive.
    unsafe { qjs::JS_GetClassID(one.as_raw()) == qjs::JS_GetClassID(other.as_raw()) }
}

/// The identity of an object, good as long as the object lives.
pub(super) fn identity(object: &Value<'_>) -> usize {
    // SAFETY: the pointer is only compared.
    unsafe { qjs::JS_VALUE_GET_PTR(object.as_raw()) as usize }
}

// Programs.

/// Compiles a module whose default export is a function and gives that function. The first line has the number `line`,
/// which is not zero. Nothing but the module's outermost level has run.
pub(super) fn compile<'js>(
    ctx: &Ctx<'js>,
    text: &str,
    file: &str,
    line: i32,
) -> Result<Function<'js>> {
    let raw = ctx.as_raw().as_ptr();
    let len = text.len() as qjs::size_t;
    // A NUL behind the text is asked for; inside it is a character like any other.
    let text = [text.as_bytes(), b"\0"].concat();
    let file = CString::new(file)?;
    let flags = qjs::JS_EVAL_TYPE_MODULE | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    let mut options = qjs::JSEvalOptions {
        version: qjs::JS_EVAL_OPTIONS_VERSION.cast_signed(),
        eval_flags: flags.cast_signed(),
        filename: file.as_ptr(),
        line_num: line,
    };
    // SAFETY: text and options outlive the call; the module belongs to the context, which outlives `definition`; the
    // evaluation takes over the module's reference.
    let namespace = unsafe {
        let module = qjs::JS_Eval2(raw, text.as_ptr().cast(), len, &raw mut options);
        if qjs::JS_IsException(module) {
            return Err(Error::Exception);
        }
        let definition = qjs::JS_VALUE_GET_PTR(module).cast::<qjs::JSModuleDef>();
        own(ctx, qjs::JS_EvalFunction(raw, module))?;
        own(ctx, qjs::JS_GetModuleNamespace(raw, definition))?
    };
    namespace.into_object().ok_or(Error::Unknown)?.get("default")
}

/// Compiles a script of ours to bytes that [`run_compiled`] takes.
pub(super) fn compile_script(ctx: &Ctx<'_>, text: &str) -> Result<Vec<u8>> {
    let raw = ctx.as_raw().as_ptr();
    let len = text.len() as qjs::size_t;
    let text = CString::new(text)?;
    let flags = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    let mut size = 0;
    // SAFETY: the text outlives the call; the bytes are copied before they are freed.
    unsafe {
        let code = own(
            ctx,
            qjs::JS_Eval(raw, text.as_ptr(), len, c"callgate".as_ptr(), flags.cast_signed()),
        )?;
        let flags = qjs::JS_WRITE_OBJ_BYTECODE | qjs::JS_WRITE_OBJ_STRIP_SOURCE;
        let bytes = qjs::JS_WriteObject(raw, &raw mut size, code.as_raw(), flags.cast_signed());
        if bytes.is_null() {
            return Err(Error::Exception);
        }
        let copy =
            std::slice::from_raw_parts(bytes, usize::try_from(size).unwrap_or_default()).to_vec();
        qjs::js_free(raw, bytes.cast());
        Ok(copy)
    }
}

/// Runs what [`compile_script`] made in this process, and gives what it evaluates to.
pub(super) fn run_compiled<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Value<'js>> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the bytes come from this very engine; the evaluation takes over the function read from them.
    unsafe {
        let flags = qjs::JS_READ_OBJ_BYTECODE.cast_signed();
        let code = qjs::JS_ReadObject(raw, bytes.as_ptr(), bytes.len() as qjs::size_t, flags);
        if qjs::JS_IsException(code) {
            return Err(Error::Exception);
        }
        own(ctx, qjs::JS_EvalFunction(raw, code))
    }
}

/// Ends the current job at once: nothing in the program can catch this.
pub(super) fn throw_uncatchable(ctx: &Ctx<'_>) -> Error {
    let Ok(error) = rquickjs::Exception::from_message(ctx.clone(), "stopped") else {
        return Error::Exception;
    };
    // SAFETY: the value is an error object of this context.
    unsafe { qjs::JS_SetUncatchableError(ctx.as_raw().as_ptr(), error.as_raw()) };
    ctx.throw(error.into_value())
}

// Memory.

/// How much memory an interpreter has and had.
#[derive(Debug)]
pub(super) struct Memory {
    limit: Cell<usize>,
    used: Cell<usize>,
    hit: Cell<bool>,
}

impl Memory {
    /// No limit yet: the engine crashes when it runs out of memory while it makes an interpreter or compiles.
    pub(super) fn unlimited() -> Rc<Self> {
        Rc::new(Self { limit: Cell::new(usize::MAX), used: Cell::new(0), hit: Cell::new(false) })
    }

    /// From here on the limit holds.
    pub(super) fn limit(&self, bytes: usize) {
        self.limit.set(bytes);
        self.hit.set(self.used.get() > bytes);
    }

    /// Whether an allocation was ever refused: the program may have caught what came of it.
    pub(super) fn hit(&self) -> bool {
        self.hit.get()
    }

    fn take(&self, size: usize) -> bool {
        match self.used.get().checked_add(size) {
            Some(used) if used <= self.limit.get() => {
                self.used.set(used);
                true
            }
            _ => {
                self.hit.set(true);
                false
            }
        }
    }

    fn give_back(&self, size: usize) {
        self.used.set(self.used.get().saturating_sub(size));
    }
}

/// Allocates for one interpreter within its limit. In front of each block stands its size.
pub(super) struct Metered(pub(super) Rc<Memory>);

const HEADER: usize = 16;

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(HEADER)?, HEADER).ok()
}

impl Metered {
    fn allocate(&self, size: usize, with: unsafe fn(Layout) -> *mut u8) -> *mut u8 {
        let Some(layout) = layout(size).filter(|layout| self.0.take(layout.size())) else {
            return ptr::null_mut();
        };
        // SAFETY: the layout is not empty; the block has room for the header in front of what is handed out.
        unsafe {
            let block = with(layout);
            if block.is_null() {
                self.0.give_back(layout.size());
                self.0.hit.set(true);
                return block;
            }
            block.cast::<usize>().write(size);
            block.add(HEADER)
        }
    }
}

/// # Safety
///
/// `data` was handed out by [`Metered`] and not freed yet.
unsafe fn size_of_block(data: *mut u8) -> usize {
    // SAFETY: the header is in front of the data.
    unsafe { data.sub(HEADER).cast::<usize>().read() }
}

// SAFETY: blocks are aligned to 16 bytes, as large as asked for, and reported with exactly that size.
unsafe impl Allocator for Metered {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.allocate(size, alloc::alloc)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        match count.checked_mul(size) {
            Some(size) => self.allocate(size, alloc::alloc_zeroed),
            None => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&mut self, data: *mut u8) {
        // SAFETY: the caller hands back what it got; the layout is the one it was allocated with.
        unsafe {
            if let Some(layout) = layout(size_of_block(data)) {
                self.0.give_back(layout.size());
                alloc::dealloc(data.sub(HEADER), layout);
            }
        }
    }

    unsafe fn realloc(&mut self, data: *mut u8, size: usize) -> *mut u8 {
        if data.is_null() {
            return self.alloc(size);
        }
        // SAFETY: as above; on failure the old block stays as it is.
        unsafe {
            let (Some(old), Some(new)) = (layout(size_of_block(data)), layout(size)) else {
                return ptr::null_mut();
            };
            if new.size() > old.size() && !self.0.take(new.size() - old.size()) {
                return ptr::null_mut();
            }
            let block = alloc::realloc(data.sub(HEADER), old, new.size());
            if block.is_null() {
                self.0.give_back(new.size().saturating_sub(old.size()));
                self.0.hit.set(true);
                return block;
            }
            self.0.give_back(old.size().saturating_sub(new.size()));
            block.cast::<usize>().write(size);
            block.add(HEADER)
        }
    }

    unsafe fn usable_size(data: *mut u8) -> usize {
        // SAFETY: the caller asks about a block it has.
        unsafe { size_of_block(data) }
    }
}
