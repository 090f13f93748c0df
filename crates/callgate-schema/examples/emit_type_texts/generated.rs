//! Tools with made-up schemas, the same for the same seed: every construct there is, names and
//! descriptions that are hard to print.

use callgate_schema::{Json, Object, SdkOutput, SdkTool, json};

/// What [`SdkTool`]s borrow.
pub(crate) struct Tools {
    tools: Vec<(String, String, Json, Json)>,
}

/// Levels of schemas below which only scalars stand.
const MOST_DEPTH: u32 = 5;

const WORDS: &[&str] = &[
    "read",
    "list",
    "str",
    "Any",
    "class",
    "from",
    "_hidden",
    "__x",
    "__init__",
    "self",
    "NotRequired",
    "web-get",
    "web_get",
    "WebGet",
    "9lives",
    "größe",
    "検索",
    "ﬂow",
    "a b",
    "quote\"d",
    "tag",
    "back\\slash",
    "new\nline",
    "constructor",
    "__proto__",
    "name",
    "Tools",
    "ToolCallError",
    "x|y",
    "TArgs",
    "type",
    "None",
    "a.b",
    "dict",
    "int",
    "Literal",
    "Never",
    "items",
    "properties",
    "",
    "sep\u{2028}arated",
    "nul\u{0}",
    "nel\u{85}",
];

const DESCRIPTIONS: &[&str] = &[
    "",
    "Plain.",
    "  Many\n lines\t here ",
    "ends with \"",
    "closes */ a comment",
    "three \"\"\" quotes",
    "```",
    "back\\slash\\",
    "nul\u{0} bell\u{7} nel\u{85}",
    "a | b & c",
    "ends in *",
    "# hash",
    " ",
    "{{variable}}",
    "C:\\new\\x41",
    "\u{2028}line\u{2029}ends\u{feff}",
];

impl Tools {
    pub(crate) fn new(seed: u64, count: usize) -> Self {
        let mut random = Random(seed);
        let tool = |index| {
            let name = format!("{}{index}", random.pick(WORDS));
            let parameters = random.root();
            (name, random.pick(DESCRIPTIONS).to_owned(), parameters, random.schema(0))
        };
        Self { tools: (0..count).map(tool).collect() }
    }

    pub(crate) fn tools(&self) -> Vec<SdkTool<'_>> {
        self.tools
            .iter()
            .enumerate()
            .map(|(index, (name, description, parameters, output))| {
                let output = match index % 5 {
                    0 => SdkOutput::Envelope(None),
                    1 => SdkOutput::Envelope(Some(output)),
                    _ => SdkOutput::Value(output),
                };
                SdkTool::new(name, description, parameters, output)
            })
            .collect()
    }
}

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    /// A schema for arguments: an object with definitions that refer to each other.
    fn root(&mut self) -> Json {
        let Json::Object(root) = self.object(0) else { return Json::Null };
        let definitions = json!({
            "Tree": { "type": "object", "properties": { "kids": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } } },
            "List": { "type": "array", "items": { "$ref": "#/$defs/List" } },
            "a/b~c": { "type": ["string", "null"], "description": "Escaped.", "minLength": 1 },
            "Loop": { "$ref": "#/$defs/Loop" },
        });
        Json::Object(root.with("$defs", definitions))
    }

    fn schema(&mut self, depth: u32) -> Json {
        let kinds = if depth < MOST_DEPTH { 16 } else { 7 };
        match self.below(kinds) {
            0 => json!({ "type": "string", "format": "uri", "pattern": "^(a|b)$" }),
            1 => json!({ "type": "number", "minimum": 0, "default": 0.5 }),
            2 => json!({ "type": self.pick(&["integer", "boolean", "null", "string"]) }),
            3 => json!({ "enum": ["a", null, 2.5, true, 9_007_199_254_740_993_u64, "|"] }),
            4 => json!({ "const": self.pick(WORDS), "description": self.pick(DESCRIPTIONS) }),
            5 => {
                json!({ "$ref": self.pick(&["#/$defs/Tree", "#/$defs/List", "#/$defs/a~1b~0c", "#/$defs/Loop", "#"]) })
            }
            6 => self.bare(),
            7 | 8 => self.object(depth),
            9 => json!({ "type": "array", "items": self.schema(depth + 1) }),
            10 => {
                json!({ "anyOf": [self.schema(depth + 1), self.schema(depth + 1), { "type": "null" }] })
            }
            11 => {
                json!({ "oneOf": [self.schema(depth + 1), self.schema(depth + 1)], "nullable": self.one_in(2) })
            }
            12 => json!({ "allOf": [self.schema(depth + 1), self.schema(depth + 1)] }),
            13 => self.tuple(depth),
            14 => json!({ "type": "object", "additionalProperties": self.schema(depth + 1) }),
            _ => json!({ "type": ["object", "array", "null"], "items": self.schema(depth + 1) }),
        }
    }

    fn bare(&mut self) -> Json {
        match self.below(4) {
            0 => json!(true),
            1 => json!(false),
            2 => json!({ "not": {} }),
            _ => json!({ "type": "array" }),
        }
    }

    fn tuple(&mut self, depth: u32) -> Json {
        let positions: Vec<Json> = (0..=self.below(3)).map(|_| self.schema(depth + 1)).collect();
        let tuple =
            Object::builder().with("prefixItems", positions).with("minItems", self.below(3));
        Json::Object(tuple.with_some("items", self.one_in(2).then_some(false)).build())
    }

    fn object(&mut self, depth: u32) -> Json {
        let count = self.below(5);
        let properties: Object =
            (0..count).map(|_| (self.pick(WORDS), self.described(depth + 1))).collect();
        let required: Vec<Json> =
            properties.keys().filter(|_| self.one_in(2)).map(|name| Json::from(&**name)).collect();
        let object = Object::builder()
            .with("type", "object")
            .with("properties", properties)
            .with("required", required);
        Json::Object(
            object.with_some("additionalProperties", self.one_in(2).then_some(false)).build(),
        )
    }

    fn described(&mut self, depth: u32) -> Json {
        match self.schema(depth) {
            Json::Object(schema) => {
                Json::Object(schema.with("description", self.pick(DESCRIPTIONS)))
            }
            other => other,
        }
    }
}
