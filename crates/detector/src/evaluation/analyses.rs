//! What was analysed beside the figures of an evaluation, as one list.

use std::{any::Any, fmt, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// Further analyses of the rows that were evaluated, in the order in which they were made.
///
/// Each is of a type of its own, by which [`get`](Analyses::get) finds it, and has a key, under which it stands in the JSON
/// of the evaluation. An analysis that was not made has no key there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Analyses(Vec<Analysed>);

/// The result of one analysis.
#[derive(Clone)]
struct Analysed {
    key: &'static str,
    result: Arc<dyn Any + Send + Sync>,
    json: Value,
}

impl Analyses {
    /// Adds the result of an analysis at the end, under `key`; it replaces an earlier result of the same type.
    ///
    /// # Panics
    /// If the result cannot be written as JSON, such as a map whose keys are no texts: a fault of the type.
    pub fn put<T: Serialize + Any + Send + Sync>(&mut self, key: &'static str, result: T) {
        self.remove::<T>();
        let json = serde_json::to_value(&result).expect("results of analyses are figures and names");
        self.0.push(Analysed { key, result: Arc::new(result), json });
    }

    /// The result of this type; none if that analysis was not made.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|analysed| analysed.result.downcast_ref())
    }

    /// Takes the result of this type out of the list, if it is there.
    pub fn remove<T: Any>(&mut self) {
        self.0.retain(|analysed| !analysed.result.is::<T>());
    }

    /// The keys of the analyses that were made, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|analysed| analysed.key)
    }
}

impl Serialize for Analyses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for analysed in &self.0 {
            map.serialize_entry(analysed.key, &analysed.json)?;
        }
        map.end()
    }
}

impl PartialEq for Analysed {
    fn eq(&self, other: &Self) -> bool {
        (self.key, &self.json) == (other.key, &other.json)
    }
}

impl fmt::Debug for Analysed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_by_type_and_written_by_key() {
        let mut analyses = Analyses::default();
        analyses.put("words", vec!["a", "b"]);
        analyses.put("number", 0.1f64);
        analyses.put("number", 0.25f64);
        assert_eq!(analyses.get::<f64>(), Some(&0.25), "the later one stands for the earlier");
        assert_eq!(analyses.get::<u8>(), None);
        assert_eq!(analyses.keys().collect::<Vec<_>>(), ["words", "number"]);
        assert_eq!(serde_json::to_string(&analyses).unwrap(), r#"{"words":["a","b"],"number":0.25}"#);
        let before = analyses.clone();
        analyses.remove::<f64>();
        assert_eq!(analyses.keys().collect::<Vec<_>>(), ["words"]);
        assert_ne!(analyses, before);
    }
}
