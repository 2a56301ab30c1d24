//! Tasks: a requirement and a program that meets it or does not, known by execution.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// What execution showed of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    /// It meets its requirement.
    Correct,
    /// A reference test fails.
    Buggy,
    /// The reference tests pass, and it gives another value than the canonical program on an input beside.
    BuggyHidden,
}

/// A program under its requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The task's name; a correct and a buggy program share it.
    pub task_id: String,
    /// Where it is from.
    pub dataset: String,
    /// `canonical`, `buggy`, or what was changed.
    pub variant: String,
    /// What is known of it.
    pub truth: Truth,
    /// `python`, `javascript` or `java`.
    pub language: String,
    /// What the program is to do.
    pub requirement: String,
    /// The program as it is shown: without the requirement, which is shown beside it.
    pub code: String,
    /// The function that tests call.
    pub entry_point: String,
    /// The tests' program.
    pub test: String,
    /// What is run behind the tests.
    #[serde(default)]
    pub call: String,
    /// The kind of fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bug_type: Option<String>,
    /// How it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_symptoms: Option<String>,
}

impl Default for Task {
    fn default() -> Task {
        Task {
            task_id: String::new(),
            dataset: String::new(),
            variant: "canonical".into(),
            truth: Truth::Correct,
            language: "python".into(),
            requirement: String::new(),
            code: String::new(),
            entry_point: String::new(),
            test: String::new(),
            call: String::new(),
            bug_type: None,
            failure_symptoms: None,
        }
    }
}

/// What is wrong with a file of tasks.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TaskError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// How a benchmark writes a symptom, and how the paper's tables call it.
const SYMPTOMS: [(&str, &str); 3] = [
    ("infinite loop", "non-termination"),
    ("stackoverflow", "runtime error"),
    ("incorrect output", "incorrect output"),
];

/// The tasks of a line of HumanEval, HumanEvalPack or QuixBugs, by its keys: the canonical program, and the buggy one if there is one.
///
/// # Errors
/// [`TaskError`] if it is none of them.
pub fn of_line(line: &str, number: usize) -> Result<Vec<Task>, TaskError> {
    let wrong = |problem: String| TaskError { line: number, problem };
    let row: Json = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
    if let Ok(task) = serde_json::from_value::<Task>(row.clone()) {
        return Ok(vec![task]);
    }
    let text = |key: &str| row[key].as_str().map(str::to_owned);
    let need = |key: &str| {
        text(key).ok_or_else(|| wrong(format!("no key `{key}`, and it is no task of another known kind either")))
    };
    if row.get("buggy_program").is_some() {
        let (name, requirement) = (need("name")?, need("docstring")?.trim_matches('"').trim().to_owned());
        let of = |variant: &str, truth, code| Task {
            task_id: format!("QuixBugs/{name}"),
            dataset: "quixbugs".into(),
            variant: variant.into(),
            truth,
            requirement: requirement.clone(),
            code,
            entry_point: name.clone(),
            test: text("tests").unwrap_or_default(),
            ..Task::default()
        };
        return Ok(vec![
            of("canonical", Truth::Correct, need("solution")?),
            of("buggy", Truth::Buggy, need("buggy_program")?),
        ]);
    }
    let (id, entry_point, test) = (need("task_id")?, need("entry_point")?, need("test")?);
    let language = match id.split('/').next() {
        Some("JavaScript") => "javascript",
        Some("Java") => "java",
        Some("Python" | "HumanEval") => "python",
        _ => return Err(wrong(format!("the task `{id}` is of no language that is run"))),
    };
    let is_pack = row.get("buggy_solution").is_some();
    let (head, requirement) = match (text("declaration"), text("text").or_else(|| text("docstring"))) {
        (Some(declaration), Some(requirement)) => (declaration, requirement),
        _ => without_docstring(&need("prompt")?),
    };
    // HumanEval's tests call the function by a name of their own
    let call = if language == "python" { format!("check({entry_point})") } else { String::new() };
    let task = |variant: &str, truth, body: String| Task {
        task_id: id.clone(),
        dataset: if is_pack { format!("humanevalpack-{language}") } else { "humaneval".into() },
        variant: variant.into(),
        truth,
        language: language.into(),
        requirement: requirement.trim_end().to_owned(),
        code: format!("{head}{body}"),
        entry_point: entry_point.clone(),
        test: test.clone(),
        call: if test.trim_end().ends_with(&call) { String::new() } else { call.clone() },
        ..Task::default()
    };
    let mut tasks = vec![task("canonical", Truth::Correct, need("canonical_solution")?)];
    if let Some(body) = text("buggy_solution") {
        let said = text("failure_symptoms").unwrap_or_default();
        let symptoms =
            SYMPTOMS.iter().find(|(name, _)| *name == said).map_or(said.clone(), |(_, name)| (*name).to_owned());
        tasks.push(Task {
            bug_type: text("bug_type"),
            failure_symptoms: Some(symptoms),
            ..task("buggy", Truth::Buggy, body)
        });
    }
    if tasks.len() == 2 && tasks[0].code == tasks[1].code {
        return Err(wrong(format!("the buggy program of `{id}` is the canonical one: this file is a placeholder")));
    }
    Ok(tasks)
}

/// A prompt of HumanEval without its docstring, and the docstring. What was defined before it stays.
fn without_docstring(prompt: &str) -> (String, String) {
    for quotes in ["\"\"\"", "'''"] {
        // the last one is the function's own
        if let Some(end) = prompt.trim_end().strip_suffix(quotes)
            && let Some(start) = end.rfind(quotes)
        {
            let head = end[..start].trim_end_matches([' ', '\t']);
            return (head.to_owned(), end[start + 3..].trim_matches('\n').to_owned());
        }
    }
    (prompt.to_owned(), String::new())
}

impl Task {
    /// The case that asks whether a fix of a judge repairs this program.
    pub fn case(&self, id: &str, fix: Option<&str>) -> Json {
        json!({
            "id": id,
            "language": self.language,
            "code": self.code,
            "fix": fix,
            "entry_point": self.entry_point,
            "requirement": self.requirement,
            "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": self.test, "call": self.call }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docstring_leaves_the_program_and_becomes_the_requirement() {
        let prompt = "import math\n\ndef f(n):\n    \"\"\" Adds.\n    >>> f(1)\n    2\n    \"\"\"\n";
        let row = json!({ "task_id": "HumanEval/0", "prompt": prompt, "entry_point": "f", "test": "def check(c): pass",
                          "canonical_solution": "    return n + 1\n" });
        let tasks = of_line(&row.to_string(), 1).unwrap();
        assert_eq!(tasks[0].code, "import math\n\ndef f(n):\n    return n + 1\n");
        assert!(tasks[0].requirement.starts_with(" Adds.\n    >>> f(1)"), "{:?}", tasks[0].requirement);
        assert_eq!(tasks[0].call, "check(f)");
        // what is written is read again
        let again = of_line(&serde_json::to_string(&tasks[0]).unwrap(), 1).unwrap();
        assert_eq!(again, tasks);
    }

    #[test]
    fn a_placeholder_in_place_of_bugs_is_refused() {
        let row = json!({ "task_id": "Python/0", "declaration": "def f(n):\n", "text": "Adds.", "entry_point": "f", "test": "x",
                          "canonical_solution": "    return n\n", "buggy_solution": "    return n\n" });
        assert!(
            of_line(&row.to_string(), 4).unwrap_err().to_string().contains("line 4: the buggy program of `Python/0`")
        );
        assert!(of_line("{}", 2).unwrap_err().to_string().starts_with("line 2: no key"));
    }
}
