// What a JSON text can stand for. Not served: a type in a comment cannot refer to itself.
import type { Exact } from "./page/json.js";

export type Json = null | boolean | number | string | Exact | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };
