//! What a client sees of the tools.

use callgate::{Array, Json, Mode, Object, RUN_CODE, ToolSchema};

use super::Session;

impl Session {
    /// The tools as the client's list has them: by name, `run_code` last.
    pub(super) fn visible_tools(&self) -> Json {
        let schemas = self.scope.schemas();
        let is_code = self.scope.mode() == Mode::Code;
        let is_shown = |schema: &&ToolSchema| !is_code || &*schema.name == RUN_CODE;
        let mut shown: Vec<&ToolSchema> = schemas.iter().filter(is_shown).collect();
        shown.sort_by_key(|schema| (&*schema.name == RUN_CODE, schema.name.clone()));
        shown.into_iter().map(|schema| self.listed(schema)).collect::<Array>().into()
    }

    fn listed(&self, schema: &ToolSchema) -> Json {
        if let Some(tool) = self.gateway.servers.shared().tool(&schema.name) {
            return tool.listed();
        }
        let description = if &*schema.name == RUN_CODE {
            self.sdk_text().description.clone()
        } else {
            schema.description.clone()
        };
        Object::builder()
            .with("name", schema.name.clone())
            .with("description", description)
            .with("inputSchema", schema.parameters.clone())
            .build()
            .into()
    }
}
