//! What the built-in set asks, whole: `INSTA_UPDATE=always cargo test --release -p veridiff-judge --test prompts` writes the files anew.

use veridiff_judge::prompts::{PromptSet, Strategy};
use veridiff_text::sample::{Sample, Task};

#[test]
fn every_strategy_for_both_tasks() {
    for (strategy, task) in Strategy::ALL.iter().flat_map(|strategy| Task::ALL.map(|task| (*strategy, task))) {
        let sample = Sample { task, ..Sample::new("a", "@@ -1 +1 @@\n-x = 1\n+x = 2", "`x` is 2 now.") };
        let prompt = PromptSet::builtin().prompt(&sample, strategy, false);
        let messages: Vec<String> =
            prompt.messages.iter().map(|message| format!("[{:?}]\n{}\n", message.role, message.content)).collect();
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let text = format!("{}[schema]\n{}", messages.concat(), prompt.schema);
        settings.bind(|| insta::assert_snapshot!(format!("{strategy}_{task}"), text));
    }
}
