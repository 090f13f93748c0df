//! Promises that were rejected and that nobody handles, in the order they were rejected.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use rquickjs::{Ctx, Persistent, Result, Value};

use super::raw;

/// Rejections as the engine reports them: a handler that comes later takes one away again.
#[derive(Default)]
pub(super) struct Rejections(RefCell<Open>);

#[derive(Default)]
struct Open {
    count: u64,
    by_promise: HashMap<usize, u64>,
    in_order: BTreeMap<u64, Rejection>,
}

struct Rejection {
    /// Keeps the identity of the promise from being used again.
    _promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

impl Rejections {
    /// A promise was rejected and has no handler, or has one now.
    pub(super) fn track<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: Value<'js>,
        reason: Value<'js>,
        handled: bool,
    ) {
        let identity = raw::identity(&promise);
        let mut open = self.0.borrow_mut();
        if handled {
            let number = open.by_promise.remove(&identity);
            let handled = number.and_then(|number| open.in_order.remove(&number));
            drop(open);
            drop(handled);
            return;
        }
        open.count += 1;
        let number = open.count;
        open.by_promise.insert(identity, number);
        let rejection = Rejection {
            _promise: Persistent::save(ctx, promise),
            reason: Persistent::save(ctx, reason),
        };
        open.in_order.insert(number, rejection);
    }

    /// Why the first of them was rejected.
    pub(super) fn first<'js>(&self, ctx: &Ctx<'js>) -> Option<Result<Value<'js>>> {
        let open = self.0.borrow();
        let (_, rejection) = open.in_order.first_key_value()?;
        Some(rejection.reason.clone().restore(ctx))
    }

    /// Lets go of all values.
    pub(super) fn clear(&self) {
        let open = self.0.take();
        drop(open);
    }
}
