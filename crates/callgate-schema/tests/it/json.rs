//! JSON: what crosses the border, and what is refused there.

use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use callgate_schema::json::Kind;
use callgate_schema::{
    Array, Json, JsonPath, Number, Object, ParseErrorKind, ParseOptions, Str, ValueErrorKind, json,
};
use proptest::prelude::*;
use serde::ser::{Error as _, SerializeMap, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};

fn parse(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The whole refusal of each text, one line each.
fn refusals<T: AsRef<[u8]>>(texts: &[T]) -> String {
    let mut report = String::new();
    for text in texts {
        let outcome = match Json::parse_slice(text.as_ref()) {
            Ok(value) => format!("ACCEPTED {value}"),
            Err(error) => format!("{:?} at byte {}: {error}", error.kind(), error.offset()),
        };
        let text: String = String::from_utf8_lossy(text.as_ref()).escape_debug().take(60).collect();
        let _ = writeln!(report, "{text}\n    {outcome}");
    }
    report
}

/// The whole refusal of each value, one line each.
fn unreadable<T: Serialize + ?Sized>(value: &T) -> String {
    match Json::from_serialize(value) {
        Ok(json) => format!("ACCEPTED {json}"),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn nested(depth: usize) -> Json {
    let mut value = json!({ "leaf": [1, "x"] });
    for level in 0..depth {
        value = if level % 2 == 0 { json!([value]) } else { json!({ "k": value, "n": 0.5 }) };
    }
    value
}

#[test]
fn every_kind_of_json_crosses_unchanged() {
    // JSON-1
    let text = r#"{"null":null,"yes":true,"no":false,"n":-3,"x":0.5,"s":"ä\n","list":[1,[],{}],"map":{"":1}}"#;
    assert_eq!(parse(text).to_string(), text);
    let value = json!({
        "null": null, "yes": true, "no": false, "n": -3, "x": 0.5, "s": "ä\n",
        "list": [1, [], {}], "map": { "": 1 },
    });
    assert_eq!(parse(text), value);
    assert_eq!(Json::from_serialize(&value.to_serde().unwrap()), Ok(value));
}

#[test]
fn one_inadmissible_part_refuses_the_whole() {
    // JSON-1
    assert!(Json::parse(r#"{"good": [1, 2, {"deep": [true, -0.0]}], "also": 1}"#).is_err());
    assert!(Json::from_serialize(&(1, "x", [0.5, f64::NAN])).is_err());
    assert!(Json::try_from(serde_json::json!({ "a": [1, -0.0] })).is_err());
}

#[test]
fn negative_zero_and_infinite_numbers_are_refused_at_every_depth() {
    // JSON-2
    insta::assert_snapshot!(refusals(&[
        "-0",
        "-0.0",
        "[{\"a\":-0e5}]",
        "-1e-400",
        "1e999",
        "[0,-1e999]"
    ]));
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
        assert!(Json::try_from(value).is_err(), "{value}");
        assert_eq!(Number::from_f64(value), None, "{value}");
        assert!(Json::from_serialize(&[BTreeMap::from([("a", value)])]).is_err(), "{value}");
    }
    assert_eq!(parse("[0, 0.0, 0e9, 1e-400]"), json!([0, 0, 0, 0]));
}

#[test]
fn integers_are_kept_exactly_or_refused() {
    // JSON-3
    for text in [
        "9007199254740993",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-18446744073709551616",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    assert_eq!(
        parse("1152921504606846976").as_number().unwrap().as_exact_f64(),
        Some(1_152_921_504_606_846_976.0)
    );
    assert_eq!(parse(&format!("1{}", "0".repeat(22))), json!(1e22));
    insta::assert_snapshot!(refusals(&[
        "18446744073709551617".to_owned(),
        "[{\"id\":-9223372036854775809}]".to_owned(),
        format!("1{}", "0".repeat(23)),
        "9".repeat(5_000),
    ]));
    insta::assert_snapshot!(unreadable(&[i128::MAX]), @"Number: value[0]: `170141183460469231731687303715884105727` is an integer that neither 64 bits nor a double hold exactly; send it as a string");
    assert_eq!(
        Json::from_serialize(&(1_u128 << 100)),
        Ok(parse("1267650600228229401496703205376"))
    );
}

#[test]
fn numbers_are_equal_by_value_whatever_their_spelling() {
    // JSON-4
    let spellings = [
        parse("1"),
        parse("1.0"),
        parse("1e0"),
        parse("10E-1"),
        json!(1_u8),
        Json::try_from(1.0).unwrap(),
    ];
    for spelling in &spellings {
        assert_eq!(*spelling, spellings[0]);
        assert_eq!(hash(spelling), hash(&spellings[0]));
        assert_eq!(spelling.canonical(), "1");
    }
    assert_ne!(parse("9007199254740993"), parse("9007199254740992.0"));
    assert_ne!(parse("18446744073709551615"), parse("18446744073709551616.0"));
}

#[test]
fn numbers_are_ordered_by_value_without_rounding() {
    let ascending = [
        "-1e300",
        "-9223372036854775809.5e0",
        "-9223372036854775808",
        "-2.5",
        "-2",
        "-0.5",
        "0",
        "5e-324",
        "0.5",
        "1",
        "1.5",
        "9007199254740992",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "1e300",
    ];
    let ascending: Vec<Number> =
        ascending.iter().map(|text| parse(text).as_number().unwrap()).collect();
    for (a, b) in (0..ascending.len()).flat_map(|a| (0..ascending.len()).map(move |b| (a, b))) {
        // The double nearest to the second is the third.
        let equal = |place: usize| if place == 1 { 2 } else { place };
        assert_eq!(
            ascending[a].cmp(&ascending[b]),
            equal(a).cmp(&equal(b)),
            "{} {}",
            ascending[a],
            ascending[b]
        );
    }
}

#[test]
fn numbers_print_as_ecmascript_does() {
    let cases = [
        ("1e21", "1e+21"),
        ("123456789012345678901.0", "123456789012345683968"),
        ("1e-7", "1e-7"),
        ("0.000001", "0.000001"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("0.1", "0.1"),
        ("100", "100"),
        ("-1.50", "-1.5"),
    ];
    for (text, printed) in cases {
        assert_eq!(parse(text).to_string(), printed);
        assert_eq!(parse(printed), parse(text), "{printed}");
    }
}

#[test]
fn of_duplicate_keys_the_last_wins_in_the_place_of_the_first() {
    // JSON-5
    assert_eq!(parse(r#"{"b":1,"a":2,"b":[3],"c":4}"#).to_string(), r#"{"b":[3],"a":2,"c":4}"#);
    let members: Vec<String> = (0..40).map(|n| format!("\"k{}\":{n}", n % 30)).collect();
    let many = parse(&format!("{{{}}}", members.join(",")));
    assert_eq!(many.as_object().unwrap().len(), 30);
    assert_eq!((many["k3"].as_i64(), many["k29"].as_i64()), (Some(33), Some(29)));
    assert_eq!(many.as_object().unwrap().keys().next().map(|key| &**key), Some("k0"));

    let built = Object::builder().with("b", 1).with("a", 2).with("b", 3).build();
    assert_eq!(built.to_string(), r#"{"b":3,"a":2}"#);
}

#[test]
fn keys_keep_the_order_in_which_they_first_appeared() {
    // JSON-5
    let text = r#"{"10":0,"z":1,"2":2,"a":3}"#;
    assert_eq!(parse(text).to_string(), text);
    assert_eq!(
        Json::try_from(serde_json::from_str::<serde_json::Value>(text).unwrap())
            .unwrap()
            .to_string(),
        text
    );
}

#[test]
fn any_string_is_an_ordinary_key() {
    // JSON-6
    let names = [
        "",
        "__proto__",
        "constructor",
        "toString",
        "a.b",
        "$serde_json::private::Number",
        "\u{0}",
        "ключ",
    ];
    let object: Object = names.iter().enumerate().map(|(place, name)| (*name, place)).collect();
    for (place, name) in names.iter().enumerate() {
        assert_eq!(object.get(name), Some(&json!(place)));
    }
    assert_eq!(object.get("hasOwnProperty"), None);
    assert_eq!(Object::default().get("toString"), None);

    let text = r#"{"$serde_json::private::Number":"5"}"#;
    assert_eq!(serde_json::from_str::<Json>(text).unwrap(), parse(text));
    assert_eq!(parse(text).to_serde().unwrap().to_string(), text);
}

#[test]
fn no_operation_recurses_on_a_value_a_hundred_thousand_levels_deep() {
    // JSON-7
    let value = nested(100_000);
    let text = value.to_string();
    let again = ParseOptions::new().max_depth(usize::MAX).parse(&text).unwrap();
    assert_eq!(again, value);
    assert_eq!(hash(&again), hash(&value));
    assert_eq!(
        again.canonical(),
        ParseOptions::new().max_depth(usize::MAX).parse(&again.canonical()).unwrap().canonical()
    );
    assert_eq!(format!("{value:?}"), text);
    assert!(value.pretty().len() < text.len() + 1_000);
    assert_eq!(Json::from_serialize(&value).unwrap(), value);
    assert_eq!(value.decode::<Json>().unwrap(), value);
    assert_ne!(nested(99_999), value);

    let mut deep = serde_json::Value::Null;
    for _ in 0..100_000 {
        deep = serde_json::Value::Array(vec![deep]);
    }
    assert_eq!(Json::try_from(deep).unwrap().to_string().len(), 200_004);
}

#[test]
fn text_from_outside_is_read_to_five_thousand_brackets() {
    // JSON-7
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(parse(&deep(5_000)).to_string(), deep(5_000));
    let error = Json::parse(&deep(5_001)).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ParseErrorKind::TooDeep, 5_000));
    insta::assert_snapshot!(error.message(), @"more than 5000 brackets are open; send a flatter value");
    assert_eq!(error.path().steps().len(), 5_000);
}

#[test]
fn a_million_brackets_neither_crash_nor_hang() {
    // JSON-7
    let text = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(Json::parse(&text).unwrap_err().kind(), ParseErrorKind::TooDeep);
    let value = ParseOptions::new().max_depth(usize::MAX).parse(&text).unwrap();
    assert_eq!(value.pretty().len(), text.len() + 2 * (2 + 4 + 6 + 8) + 10 + 10);
    assert_eq!(value.clone(), value);
    let cut = ParseOptions::new().max_depth(usize::MAX).parse(&text[..1_500_000]).unwrap_err();
    assert_eq!(cut.kind(), ParseErrorKind::Syntax);
}

#[test]
fn a_snapshot_is_detached_from_its_producer() {
    // JSON-8
    let mut producer = vec![vec![1], vec![2]];
    let snapshot = Json::from_serialize(&producer).unwrap();
    producer[0].push(9);
    producer.push(Vec::new());
    assert_eq!(snapshot, json!([[1], [2]]));

    let shared = Object::builder().with("a", 1).build();
    let changed = shared.with("a", 2).with("b", 3);
    assert_eq!(
        (shared.to_string(), changed.to_string()),
        (r#"{"a":1}"#.to_owned(), r#"{"a":2,"b":3}"#.to_owned())
    );
    assert_eq!(changed.without("a").to_string(), r#"{"b":3}"#);
}

#[test]
fn a_producer_is_read_once() {
    // JSON-9
    struct Counting(Cell<u32>);
    impl Serialize for Counting {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.set(self.0.get() + 1);
            serializer.serialize_u32(self.0.get())
        }
    }
    let producer = Counting(Cell::new(0));
    assert_eq!(Json::from_serialize(&producer), Ok(json!(1)));
    assert_eq!(producer.0.get(), 1);
}

#[test]
fn a_producer_that_fails_or_panics_is_an_error_with_its_message_and_path() {
    // JSON-10
    struct Failing;
    impl Serialize for Failing {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(S::Error::custom("the disk is gone"))
        }
    }
    struct Panicking;
    impl Serialize for Panicking {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("the {} is gone", "key")
        }
    }
    insta::assert_snapshot!(unreadable(&("x", [vec![Failing]])), @"Producer: value[1][0][0]: the disk is gone");
    insta::assert_snapshot!(unreadable(&[Panicking]), @"Producer: value[0]: the value panicked while it was read: the key is gone");
}

#[test]
fn what_only_looks_like_json_is_refused_with_its_path() {
    // JSON-11
    #[derive(Serialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Side {
        Left,
        Right(u8),
    }
    #[derive(Serialize)]
    struct Table {
        rows: HashMap<u32, bool>,
    }
    insta::assert_snapshot!(unreadable(&Table { rows: HashMap::from([(1, true)]) }), @"Key: value.rows: a map key must be a string, but one is an integer; turn it into a string");
    insta::assert_snapshot!(unreadable(&[BTreeMap::from([(Side::Right(1), 1)])]), @"Key: value[0]: a map key must be a string, but one is an enum with data; turn it into a string");
    insta::assert_snapshot!(unreadable(&BTreeMap::from([(Some("x"), 1)])), @"Key: value: a map key must be a string, but one is an option; turn it into a string");
    insta::assert_snapshot!(unreadable(&(0.5, f32::INFINITY)), @"Number: value[1]: `inf` is beyond the range of a double; send it as a string");
    assert_eq!(
        Json::from_serialize(&BTreeMap::from([(Side::Left, 'x')])),
        Ok(json!({ "Left": "x" }))
    );
}

#[test]
fn text_that_is_no_unicode_is_refused() {
    // JSON-13
    insta::assert_snapshot!(refusals(&[
        br#""\ud83d""#.as_slice(),
        br#"{"a":"\ude00 and more"}"#,
        br#"["\ud83d\u0041"]"#,
        b"\"ab\xff\"",
        b"[\"\xed\xa0\x80\"]",
        b"\xff",
    ]));
    assert_eq!(parse(r#""\ud83d\ude00\u00e4""#), json!("😀ä"));
}

#[test]
fn faults_of_syntax_name_the_place_and_the_way_out() {
    insta::assert_snapshot!(refusals(&[
        "",
        "  \n ",
        "[1, 2",
        "{\"a\": 1",
        "{\"a\": {\"b\":",
        "{\"a\": \"never closed}",
        "[1,]",
        "{\"a\":1,}",
        "[1 2]",
        "{\"a\" 1}",
        "{a: 1}",
        "{1: 2}",
        "{'a': 1}",
        "[True]",
        "None",
        "[undefined]",
        "[NaN]",
        "-Infinity",
        "[1] // done",
        "/* x */ 1",
        "{} {}",
        "1 2",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[-]",
        "[0x1F]",
        "[1e]",
        "\"a\nb\"",
        "\"\\x41\"",
        "\"\\u12g4\"",
        "\"\\u12",
        "[1}",
        "]",
        "nul",
        "\u{feff}x",
        "{\n  \"ключ\": [1,\n    oops]\n}",
    ]));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(parse("\u{feff}[1]"), json!([1]));
}

#[test]
fn a_parse_error_can_speak_of_any_root() {
    let error = Json::parse(r#"{"n":-0}"#).unwrap_err();
    assert_eq!(
        error.display("").to_string(),
        "n: `-0` is negative zero, which has no lossless form; write 0 (line 1, column 6)"
    );
}

#[test]
fn results_are_rendered_raw_or_over_lines() {
    // CODE-16
    assert_eq!(json!("a \"quoted\"\nline").render_result(), "a \"quoted\"\nline");
    assert_eq!(json!(null).render_result(), "null");
    assert_eq!(json!({ "a": [1, 2] }).render_result(), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
    insta::assert_snapshot!(json!({ "z": [], "a": {}, "s": "x", "n": [1e21, { "b": null, "a": true }] }).render_result(), @r#"
    {
      "z": [],
      "a": {},
      "s": "x",
      "n": [
        1e+21,
        {
          "b": null,
          "a": true
        }
      ]
    }
    "#);
}

#[test]
fn rendering_indents_by_ten_columns_at_most_and_stays_linear() {
    // CODE-17
    insta::assert_snapshot!(json!([[[[[[1, { "a": [] }], {}], 2]]]]).render_result(), @r#"
    [
      [
        [
          [
            [
              [1,{"a":[]}],
              {}
            ],
            2
          ]
        ]
      ]
    ]
    "#);
    let mut deep = json!([]);
    for _ in 1..5_000 {
        deep = json!([deep]);
    }
    assert!(deep.render_result().len() < 11_000);
}

#[test]
fn equality_and_hash_do_not_look_at_the_order_of_members() {
    let a = parse(r#"{"a":1,"b":[{"x":1,"y":2}]}"#);
    let b = parse(r#"{"b":[{"y":2,"x":1}],"a":1}"#);
    assert_eq!(a, b);
    assert_eq!(hash(&a), hash(&b));
    assert_eq!(a.canonical(), b.canonical());
    assert_ne!(a, parse(r#"{"a":1,"b":[{"x":1,"y":3}]}"#));
    assert_ne!(a, parse(r#"{"a":1,"c":[{"x":1,"y":2}]}"#));
    assert_ne!(json!([1, 2]), json!([2, 1]));
    assert_ne!(json!({}), json!([]));
}

#[test]
fn typed_values_come_and_go_unchanged() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Order {
        id: u64,
        note: Option<String>,
        parts: Vec<Part>,
        raw: Json,
        map: BTreeMap<Name, i128>,
        share: f64,
        unit: (),
        letter: char,
        object: Object,
        list: Array,
        number: Number,
        name: Str,
    }
    #[derive(Serialize, Deserialize, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Name(String);
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    enum Part {
        Empty,
        One(u8),
        Two(u8, bool),
        Named { x: i8 },
    }
    let order = Order {
        id: u64::MAX,
        note: None,
        parts: vec![Part::Empty, Part::One(1), Part::Two(2, true), Part::Named { x: -1 }],
        raw: nested(2_000),
        map: BTreeMap::from([(Name("n".to_owned()), 1 << 80)]),
        share: 2.0,
        unit: (),
        letter: 'ä',
        object: Object::builder().with("a", 1).build(),
        list: (1..3).collect(),
        number: 7.into(),
        name: "Str".into(),
    };
    let json = Json::from_serialize(&order).unwrap();
    let shown = Json::Object(json.as_object().unwrap().without("raw"));
    insta::assert_snapshot!(shown, @r#"{"id":18446744073709551615,"note":null,"parts":["Empty",{"One":1},{"Two":[2,true]},{"Named":{"x":-1}}],"map":{"n":1.2089258196146292e+24},"share":2,"unit":null,"letter":"ä","object":{"a":1},"list":[1,2],"number":7,"name":"Str"}"#);
    assert_eq!(json.decode::<Order>(), Ok(order));
}

#[test]
fn json_lives_inside_flattened_and_untagged_types() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Envelope {
        id: u8,
        #[serde(flatten)]
        rest: Object,
    }
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    #[serde(untagged)]
    enum Loose {
        Small(u8),
        Any(Json),
    }
    let value = json!({ "id": 1, "b": [1, { "c": null }] });
    let envelope: Envelope = value.decode().unwrap();
    assert_eq!(envelope.rest.get("b"), Some(&json!([1, { "c": null }])));
    assert_eq!(Json::from_serialize(&envelope), Ok(value.clone()));
    assert_eq!(
        serde_json::from_str::<Json>(&serde_json::to_string(&envelope).unwrap()).unwrap(),
        value
    );

    let loose: Vec<Loose> = json!([1, 300, { "x": 1e300 }]).decode().unwrap();
    assert_eq!(loose, [Loose::Small(1), Loose::Any(json!(300)), Loose::Any(json!({ "x": 1e300 }))]);
}

#[test]
fn decoding_names_the_part_that_is_refused() {
    #[derive(Deserialize, Debug)]
    struct Query {
        #[expect(dead_code, reason = "only decoded")]
        ids: Vec<HashMap<String, u8>>,
    }
    let refusal = |value: Json| value.decode::<Query>().unwrap_err().to_string();
    insta::assert_snapshot!(refusal(json!({ "ids": [{}, { "a": 1, "b": 300 }] })), @"value.ids[1].b: invalid value: integer `300`, expected u8");
    insta::assert_snapshot!(refusal(json!({ "ids": [{ "a": "1" }] })), @r#"value.ids[0].a: invalid type: string "1", expected u8"#);
    insta::assert_snapshot!(refusal(json!({})), @"value: missing field `ids`");
    insta::assert_snapshot!(json!([1, 9_007_199_254_740_993_u64]).decode::<Vec<f64>>().unwrap_err(), @"value[1]: the integer 9007199254740993 cannot be held exactly by a double");
    insta::assert_snapshot!(json!([1, 2, 3]).decode::<(u8, u8)>().unwrap_err(), @"value: 1 item(s) more than expected");
}

#[test]
fn recursive_types_end_with_an_error_before_the_stack_does() {
    #[derive(Serialize, Deserialize, Debug)]
    struct Chain {
        next: Option<Box<Chain>>,
    }
    let mut value = json!({});
    for _ in 0..2_000 {
        value = json!({ "next": value });
    }
    insta::assert_snapshot!(value.decode::<Chain>().unwrap_err().message(), @"nested deeper than the 512 levels serde may recurse; pass the deep part as `Json`");
    assert!(serde_json::to_string(&value).is_err());

    let mut chain = Chain { next: None };
    for _ in 0..2_000 {
        chain = Chain { next: Some(Box::new(chain)) };
    }
    assert_eq!(Json::from_serialize(&chain).unwrap_err().kind(), ValueErrorKind::Depth);
}

#[test]
fn serde_json_values_are_taken_as_deep_as_they_can_be_dropped() {
    let at_limit = nested(4_998);
    assert_eq!(Json::try_from(at_limit.to_serde().unwrap()).unwrap(), at_limit);
    let error = nested(5_000).to_serde().unwrap_err();
    assert_eq!((error.kind(), error.path().steps().len()), (ValueErrorKind::Depth, 5_000));
}

#[test]
fn big_serde_json_numbers_are_read_by_their_digits() {
    let from =
        |text: &str| Json::try_from(serde_json::from_str::<serde_json::Value>(text).unwrap());
    assert_eq!(
        from("[1, -1, 18446744073709551615, 1.0, 1e300]"),
        Ok(json!([1, -1, u64::MAX, 1, 1e300]))
    );
    insta::assert_snapshot!(from(r#"{"a":[0,-0.0]}"#).unwrap_err(), @"value.a[1]: `-0.0` is negative zero, which has no lossless form; write 0");
}

/// `serde_json` writes numbers and raw text like this when a build turns on that it keeps them letter by letter.
struct Embedded(&'static str, &'static str);

impl Serialize for Embedded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wrapper = serializer.serialize_struct(self.0, 1)?;
        wrapper.serialize_field(self.0, self.1)?;
        wrapper.end()
    }
}

#[test]
fn numbers_that_serde_json_keeps_letter_by_letter_are_read_by_our_rules() {
    // JSON-3
    let number = |token| Embedded("$serde_json::private::Number", token);
    assert_eq!(Json::from_serialize(&[number("1.0"), number("1e2")]), Ok(json!([1, 100])));
    insta::assert_snapshot!(unreadable(&[number("18446744073709551617")]), @"Number: value[0]: `18446744073709551617` is an integer that neither 64 bits nor a double hold exactly; send it as a string");
    insta::assert_snapshot!(unreadable(&[number("-0")]), @"Number: value[0]: `-0` is negative zero, which has no lossless form; write 0");

    let raw = |text| Embedded("$serde_json::private::RawValue", text);
    assert_eq!(Json::from_serialize(&raw("{\"a\": [1.0]}")), Ok(json!({ "a": [1] })));
    insta::assert_snapshot!(unreadable(&[raw("{\"a\":[0,1e999]}")]), @"Number: value[0].a[1]: `1e999` is beyond the range of a double; send it as a string");
}

#[test]
fn a_map_that_repeats_a_key_keeps_the_last() {
    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("a", &1)?;
            map.serialize_entry("a", &2)?;
            map.end()
        }
    }
    assert_eq!(Json::from_serialize(&Twice), Ok(json!({ "a": 2 })));
}

#[test]
fn values_are_read_through_accessors_and_paths() {
    let value = json!({ "rows": [{ "id": 7, "share": 0.5, "big": u64::MAX }], "on": true });
    let row = &value["rows"][0];
    assert_eq!(
        (row["id"].as_i64(), row["id"].as_u64(), row["id"].as_f64()),
        (Some(7), Some(7), Some(7.0))
    );
    assert_eq!(
        (row["share"].as_i64(), row["big"].as_i64(), row["big"].as_u64()),
        (None, None, Some(u64::MAX))
    );
    assert_eq!(
        (value["on"].as_bool(), value["missing"].is_null(), value["rows"][9].is_null()),
        (Some(true), true, true)
    );
    assert_eq!(value.kind(), Kind::Object);
    assert_eq!(value.at(&JsonPath::root().name("rows").index(0).name("share")), Some(&json!(0.5)));
    assert_eq!(value.at(&JsonPath::root().name("rows").name("x")), None);
}

#[test]
fn the_macro_takes_any_expression() {
    let name = String::from("n");
    let key: Str = "k".into();
    let list = [json!(1)].into_iter().collect::<Array>();
    let value = json!({
        "a": name.len() + 1, "b": [name.clone(), if true { 1 } else { 2 }, -1, 1 + 1, ()], "c": list, (key.clone()): None::<u8>,
        name: [[], [null, {}]], "last": { "x": -0.5 },
    });
    insta::assert_snapshot!(value, @r#"{"a":2,"b":["n",1,-1,2,null],"c":[1],"k":null,"n":[[],[null,{}]],"last":{"x":-0.5}}"#);
}

pub(crate) fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_filter_map("not lossless", |value| Json::try_from(value).ok()),
        "\\PC{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec(("[a-c\"\\\\]{0,2}", inner), 0..20)
                .prop_map(|members| members.into_iter().collect::<Object>().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn printing_and_parsing_are_inverse(value in any_json()) {
        let text = value.to_string();
        prop_assert_eq!(Json::parse(&text).unwrap().to_string(), text.clone());
        prop_assert_eq!(&Json::parse(&text).unwrap(), &value);
        prop_assert_eq!(&Json::parse(&value.pretty()).unwrap(), &value);
        prop_assert_eq!(&Json::parse(&value.canonical()).unwrap(), &value);
        prop_assert_eq!(&Json::try_from(value.to_serde().unwrap()).unwrap(), &value);
        prop_assert_eq!(&serde_json::from_str::<Json>(&serde_json::to_string(&value).unwrap()).unwrap(), &value);
    }

    #[test]
    fn parsing_agrees_with_serde_json_on_what_is_json(text in "[\\[\\]{}:,\"0-9a-e.+\\-\\\\ \n]{0,12}") {
        let ours = Json::parse(&text);
        let theirs = serde_json::from_str::<Json>(&text);
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(error), Ok(_)) => prop_assert_eq!(error.kind(), ParseErrorKind::NotLossless),
            (Err(_), Err(_)) => {}
            (Ok(value), Err(error)) => prop_assert!(false, "{text}: {value}, but {error}"),
        }
    }

    #[test]
    fn parsing_any_bytes_ends_with_a_value_or_an_error_inside_them(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Err(error) = Json::parse_slice(&bytes) {
            prop_assert!(error.offset() <= bytes.len());
        }
    }

    #[test]
    fn equal_values_hash_alike(a in any_json(), b in any_json()) {
        prop_assert_eq!(a == b, a.canonical() == b.canonical());
        prop_assert_eq!(hash(&a), hash(&Json::parse(&a.canonical()).unwrap()));
    }
}
