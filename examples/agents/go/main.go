// An agent in the A2A format (0.3), with the standard library alone: it says things louder.
//
//	go run main.go 9000
package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

type request struct {
	JSONRPC, Method string
	ID              json.RawMessage
	Params          struct {
		ID            string
		Configuration struct{ Blocking *bool }
		Message       struct {
			MessageID, ContextID, TaskID string
			Parts                        []struct{ Kind, Text string }
		}
	}
}

var (
	changed = sync.NewCond(&sync.Mutex{}) // held by whoever looks at tasks
	tasks   = map[string]object{}         // an agent that must not forget them has a database
)

const card = `{"name": "shouter", "description": "Says things louder.", "version": "1.0.0",
	"url": "http://%s/", "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
	"capabilities": {"streaming": false},
	"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
	"skills": [{"id": "shout", "name": "Shout", "description": "In capitals.", "tags": ["text"]}]}`

func work(text string) string { // what this agent does: put your own here
	if strings.HasPrefix(text, "slow") {
		time.Sleep(2 * time.Second)
	}
	return strings.ToUpper(text)
}

func run(task object, text string) {
	parts := []object{{"kind": "text", "text": work(text)}}
	changed.L.Lock()
	defer changed.L.Unlock()
	if isWorking(task) { // else it was cancelled meanwhile
		task["artifacts"] = []object{{"artifactId": "shouted", "parts": parts}}
		task["status"] = object{"state": "completed"}
		changed.Broadcast()
	}
}

func fault(code int, message string) object { return object{"code": code, "message": message} }

func isWorking(task object) bool { return task["status"].(object)["state"] == "working" }

func send(asked request) (result, wrong object) {
	message, text := asked.Params.Message, ""
	if message.MessageID == "" || len(message.Parts) == 0 {
		return nil, fault(-32602, "params.message needs a messageId and parts")
	} else if message.TaskID != "" { // this agent never asks back, so that no task can go on
		return nil, fault(-32001, "there is no such task")
	}
	for _, part := range message.Parts {
		text += part.Text
	}
	// The id follows from that of the message: one that comes again finds its task.
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(message.MessageID)))
	if tasks[id] == nil {
		tasks[id] = object{"kind": "task", "id": id, "contextId": cmp.Or(message.ContextID, id), "status": object{"state": "working"}}
		go run(tasks[id], text)
	}
	for blocking := asked.Params.Configuration.Blocking; (blocking == nil || *blocking) && isWorking(tasks[id]); {
		changed.Wait()
	}
	return tasks[id], nil
}

func answer(asked request) (result, wrong object) {
	task := tasks[asked.Params.ID]
	switch {
	case asked.JSONRPC != "2.0" || asked.Method == "":
		return nil, fault(-32600, "this is no request of JSON-RPC 2.0")
	case asked.Method == "message/send":
		return send(asked)
	case asked.Method != "tasks/get" && asked.Method != "tasks/cancel":
		return nil, fault(-32601, "there is no method "+asked.Method)
	case task == nil:
		return nil, fault(-32001, "there is no such task")
	case asked.Method == "tasks/cancel" && !isWorking(task):
		return nil, fault(-32002, "the task is over")
	case asked.Method == "tasks/cancel":
		task["status"] = object{"state": "canceled"}
		changed.Broadcast()
	}
	return task, nil
}

func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/.well-known/agent-card.json" {
		fmt.Fprintf(w, card, r.Host)
		return
	}
	var asked request
	result, wrong := object(nil), fault(-32700, "this is no JSON")
	unread := json.NewDecoder(r.Body).Decode(&asked)
	changed.L.Lock()
	defer changed.L.Unlock()
	if unread == nil {
		result, wrong = answer(asked)
	}
	said := object{"jsonrpc": "2.0", "id": asked.ID, "result": result}
	if wrong != nil {
		said = object{"jsonrpc": "2.0", "id": asked.ID, "error": wrong}
	}
	_ = json.NewEncoder(w).Encode(said)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	panic(http.Serve(listener, http.HandlerFunc(serve)))
}
