//! Annotation as pages: agreement and prevalence as tables, and what an annotator looks at.

mod tables;
mod view;

pub use tables::{agreement_page, prevalence_page};
pub use view::{Earlier, definitions, question_lines, sample_page};
