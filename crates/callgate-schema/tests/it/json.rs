//! JSON: what crosses the border, and what is refused there.

use std::fmt::Write as _;

use callgate_schema::{Json, json};

fn parse(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The whole refusal of each text, one line each.
fn refusals(texts: &[&str]) -> String {
    let mut report = String::new();
    for text in texts {
        let outcome = match Json::parse(text) {
            Ok(value) => format!("ACCEPTED {value}"),
            Err(error) => format!("{:?} at {}: {error}", error.kind(), error.offset()),
        };
        let text: String = text.chars().take(60).collect();
        let _ = writeln!(report, "{text:?} -> {outcome}");
    }
    report
}

#[test]
fn every_kind_of_json_crosses_unchanged() {
    // JSON-1
    let text = r#"{"null":null,"yes":true,"no":false,"n":-3,"x":0.5,"s":"ä\n","list":[1,[],{}],"map":{"":1}}"#;
    assert_eq!(parse(text).to_string(), text);
    assert_eq!(
        parse(text),
        json!({
            "null": null, "yes": true, "no": false, "n": -3, "x": 0.5, "s": "ä\n",
            "list": [1, [], {}], "map": { "": 1 },
        })
    );
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
    }
    assert_eq!(parse("[0, 0.0, 0e9, 1e-400]"), json!([0, 0, 0, 0]));
}

#[test]
fn integers_are_kept_exactly_or_refused() {
    // JSON-3, with 64-bit integers kept instead of refused
    for text in
        ["9007199254740993", "-9223372036854775808", "18446744073709551615", "18446744073709551616"]
    {
        assert_eq!(parse(text).to_string(), text);
    }
    assert_eq!(parse("1152921504606846976").as_exact(), Some(1_152_921_504_606_846_976.0));
    insta::assert_snapshot!(refusals(&[
        "18446744073709551617",
        "[{\"id\":-9223372036854775809}]",
        &"9".repeat(5_000),
    ]));
}

trait Exact {
    fn as_exact(&self) -> Option<f64>;
}

impl Exact for Json {
    fn as_exact(&self) -> Option<f64> {
        self.as_number()?.as_exact_f64()
    }
}
