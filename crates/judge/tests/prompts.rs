//! What the built-in set asks, whole: `INSTA_UPDATE=always cargo test --release -p veridiff-judge --test prompts` writes the files anew.

use veridiff_judge::prompts::{PromptSet, Strategy};
use veridiff_text::sample::{Sample, Task};

#[test]
fn every_strategy_for_both_tasks_with_reasons_and_without() {
    // the score alone is asked for where its probabilities are read
    let brief = Strategy::ALL.into_iter().filter(|strategy| strategy.can_be_brief()).map(|strategy| (strategy, true));
    let forms = Strategy::ALL.into_iter().map(|strategy| (strategy, false)).chain(brief);
    for ((strategy, is_brief), task) in forms.flat_map(|form| Task::ALL.map(|task| (form, task))) {
        let sample = Sample { task, ..Sample::new("a", "@@ -1 +1 @@\n-x = 1\n+x = 2", "`x` is 2 now.") };
        let prompt = PromptSet::builtin().prompt(&sample, strategy, is_brief);
        let messages: Vec<String> =
            prompt.messages.iter().map(|message| format!("[{:?}]\n{}\n", message.role, message.content)).collect();
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let text = format!("{}[schema]\n{}", messages.concat(), prompt.schema);
        let name = format!("{strategy}_{task}{}", if is_brief { "_brief" } else { "" });
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}
