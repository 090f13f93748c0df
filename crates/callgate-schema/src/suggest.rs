//! Which known name somebody may have meant.

/// The longest names that are compared, in bytes: no tool or member is called longer.
const LONGEST: usize = 64;
/// How many known names are looked at: enough for any toolbox, few enough for a message.
const MOST_COMPARED: usize = 2_000;

/// The known name that is nearest to a wrong one, if one is near enough to have been meant.
///
/// Case, `_` and `-` count little, a few wrong letters a bit more, a missing or extra word most.
///
/// ```
/// use callgate_schema::nearest_name;
///
/// let known = ["file_path", "limit", "recursive"];
/// assert_eq!(nearest_name("filePath", known), Some("file_path"));
/// assert_eq!(nearest_name("limt", known), Some("limit"));
/// assert_eq!(nearest_name("path", known), Some("file_path"));
/// assert_eq!(nearest_name("colour", known), None);
/// ```
pub fn nearest_name<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.len() > LONGEST {
        return None;
    }
    let plain = plain(wrong);
    let scored = known
        .into_iter()
        .take(MOST_COMPARED)
        .filter(|name| name.len() <= LONGEST && *name != wrong);
    scored
        .filter_map(|name| Some((distance(wrong, &plain, name)?, name)))
        .min_by_key(|(score, _)| *score)
        .map(|(_, name)| name)
}

/// Smaller is nearer; `None` is too far.
fn distance(wrong: &str, plain_wrong: &str, name: &str) -> Option<usize> {
    let plain_name = plain(name);
    let longer = plain_wrong.chars().count().max(plain_name.chars().count());
    let edits = strsim::damerau_levenshtein(plain_wrong, &plain_name);
    if longer > 0 && edits * 3 <= longer {
        return Some(edits);
    }
    let (wrong, name) = (words(wrong), words(name));
    let within = |few: &[String], many: &[String]| {
        !few.is_empty() && few.iter().all(|word| many.contains(word))
    };
    (within(&wrong, &name) || within(&name, &wrong))
        .then(|| LONGEST + wrong.len().abs_diff(name.len()))
}

/// The letters and digits in lower case.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name in snake, kebab or camel case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower_before = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && lower_before) {
            words.push(String::new());
        }
        lower_before = letter.is_lowercase();
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
