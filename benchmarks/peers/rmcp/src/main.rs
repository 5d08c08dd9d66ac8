//! The official Rust SDK over Streamable HTTP, with five tools; prints the port it listens on.
//!
//! As it comes it has sessions, and answers are streams of events. With `tuned` it has no sessions,
//! and answers are JSON.

use std::{env, sync::Arc};

use rmcp::{
    ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{ServerCapabilities, ServerConfig},
    schemars, tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Given {
    text: String,
}

#[derive(Clone)]
struct Benchmark {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Benchmark {
    #[tool(description = "Give a text back.")]
    async fn echo(&self, Parameters(Given { text }): Parameters<Given>) -> String {
        text
    }

    #[tool(description = "Give a text back.")]
    async fn tool_1(&self, Parameters(Given { text }): Parameters<Given>) -> String {
        text
    }

    #[tool(description = "Give a text back.")]
    async fn tool_2(&self, Parameters(Given { text }): Parameters<Given>) -> String {
        text
    }

    #[tool(description = "Give a text back.")]
    async fn tool_3(&self, Parameters(Given { text }): Parameters<Given>) -> String {
        text
    }

    #[tool(description = "Give a text back.")]
    async fn tool_4(&self, Parameters(Given { text }): Parameters<Given>) -> String {
        text
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Benchmark {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = StreamableHttpServerConfig::default();
    if env::args().nth(2).is_some_and(|option| option == "tuned") {
        config.legacy_session_mode = false;
        config.json_response = true;
    }
    let sessions = Arc::new(LocalSessionManager::default());
    let make = || Ok(Benchmark { tool_router: Benchmark::tool_router() });
    let service = StreamableHttpService::new(make, sessions, config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
