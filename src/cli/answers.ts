/** The parts of API answers that commands use; `/openapi.json` describes them completely. */
export interface ToolView {
  name: string;
  original_name: string;
  wire_name: string;
  description: string;
  input_schema: Record<string, unknown>;
  enabled: boolean;
  override?: { rename?: string; fixed_arguments?: Record<string, unknown>; hidden_arguments?: string[] };
}

interface ServerAnswer {
  id: string;
  name: string;
  description: string | null;
  transport_type: string;
  status: 'DISCONNECTED' | 'CONNECTING' | 'CONNECTED' | 'DEGRADED' | 'ERROR' | 'DISCONNECTING';
  /** Not running: the next call starts it. */
  parked: boolean;
  tool_count: number;
  error_message: string | null;
  tools?: ToolView[];
}

export interface ServerDetail extends ServerAnswer {
  connection_config: Record<string, unknown>;
  options: Record<string, unknown>;
  sessions: { ownership: string; source: string; reason: string };
  stderr_tail: string | null;
}

export interface ServerList {
  servers: ServerAnswer[];
  total: number;
}

export interface ToolList {
  tools: ToolView[];
}

export interface ImportAnswer {
  results: {
    key: string;
    name: string | null;
    outcome: 'registered' | 'would_register' | 'already_exists' | 'skipped' | 'invalid';
    reason: string | null;
    warnings: string[];
  }[];
}
