//! Which functions of a program pass on what goes wrong in them, to its very end.

/// A body of code: the program itself, or one of its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body(usize);

impl Body {
    /// The program itself.
    pub(super) const TOP: Self = Self(0);
}

/// How bodies are used.
#[derive(Debug)]
pub(super) struct Uses {
    /// For each body: where it is used, and whether a failure in it would be a failure there.
    of: Vec<Vec<(Body, bool)>>,
}

impl Uses {
    pub(super) fn new() -> Self {
        Self { of: vec![Vec::new()] }
    }

    /// A body that is not used anywhere yet.
    pub(super) fn body(&mut self) -> Body {
        self.of.push(Vec::new());
        Body(self.of.len() - 1)
    }

    /// The body is used in another one, or in itself.
    pub(super) fn add(&mut self, body: Body, used_in: Body, passes_on: bool) {
        self.of[body.0].push((used_in, passes_on));
    }

    /// For each body whether a failure in it certainly is the failure of the program.
    pub(super) fn certain(&self) -> Certain {
        let mut certain: Vec<bool> =
            self.of.iter().map(|uses| uses.iter().all(|(_, passes_on)| *passes_on)).collect();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.of.len()];
        for (body, uses) in self.of.iter().enumerate() {
            for (used_in, _) in uses {
                users[used_in.0].push(body);
            }
        }
        // One use that does not pass on is enough, and so is one by a body that does not.
        let mut doubtful: Vec<usize> = (0..certain.len()).filter(|body| !certain[*body]).collect();
        while let Some(body) = doubtful.pop() {
            for used in &users[body] {
                if std::mem::replace(&mut certain[*used], false) {
                    doubtful.push(*used);
                }
            }
        }
        // What nobody calls fails nowhere.
        let mut reached = vec![false; self.of.len()];
        let mut pending = vec![0];
        while let Some(body) = pending.pop() {
            if !std::mem::replace(&mut reached[body], true) {
                pending.extend(&users[body]);
            }
        }
        Certain(
            certain.into_iter().zip(reached).map(|(certain, reached)| certain && reached).collect(),
        )
    }
}

/// The answer of [`Uses::certain`].
#[derive(Debug)]
pub(super) struct Certain(Vec<bool>);

impl Certain {
    pub(super) fn is(&self, body: Body) -> bool {
        self.0.get(body.0).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_certain_if_all_that_leads_to_it_is() {
        let mut uses = Uses::new();
        let [plain, caught, both, below_caught, recursive, unused, dead] =
            std::array::from_fn(|_| uses.body());
        uses.add(plain, Body::TOP, true);
        uses.add(caught, Body::TOP, false);
        uses.add(both, Body::TOP, true);
        uses.add(both, caught, true);
        uses.add(below_caught, caught, true);
        uses.add(recursive, plain, true);
        uses.add(recursive, recursive, true);
        uses.add(dead, unused, true);
        let certain = uses.certain();
        let answers =
            [plain, caught, both, below_caught, recursive, unused, dead].map(|it| certain.is(it));
        assert_eq!(answers, [true, false, false, false, true, false, false]);
        assert!(certain.is(Body::TOP));
    }
}
