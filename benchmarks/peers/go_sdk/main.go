// The official Go SDK over Streamable HTTP, with sessions; prints the port it listens on.
//
// As it comes, answers are streams of events. With "tuned" they are JSON.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type arguments struct {
	Text string `json:"text"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, given arguments) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: given.Text}}}, nil, nil
}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "benchmark", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Give a text back."}, echo)
	for number := 1; number < count; number++ {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("tool_%d", number), Description: "Give a text back."}, echo)
	}
	options := &mcp.StreamableHTTPOptions{JSONResponse: len(os.Args) > 2 && os.Args[2] == "tuned"}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, handler))
}
