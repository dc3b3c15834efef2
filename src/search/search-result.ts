/** What is asked of a search, and what it answers. */
import type { SearchableTool } from './tool.ts';

export type SearchStrategy = 'hierarchical' | 'direct' | 'lexical' | 'auto';
/** `vector` is for measuring only; no surface offers it. */
export type UsedStrategy = 'hierarchical' | 'direct' | 'lexical' | 'vector';

export interface SearchRequest {
  query?: string | undefined;
  /** One for each step of the task; with a `query` beside them, that is the task as a whole. */
  queries?: string[] | undefined;
  limit?: number;
  skillThreshold?: number;
  toolThreshold?: number;
  strategy?: SearchStrategy | 'vector';
  serverFilter?: string[] | null;
  includeExternal?: boolean;
  includeReasons?: boolean;
  /** Which tools this caller may see, beside the servers' availability. */
  isVisible?: (tool: SearchableTool) => boolean;
}

export interface FoundTool {
  tool: SearchableTool;
  /** Chance, 0 to 1, that the tool answers the request; it means the same in every request. */
  score: number;
  reasons?: Reasons;
  /** Tools of other servers that do the same. */
  alternatives?: SearchableTool[];
  /** Positions in `queries` of the steps that it is for; none where only the whole task found it. */
  steps?: number[];
}

/** What was found for one of `queries`, best first. */
interface FoundStep {
  query: string;
  tools: SearchableTool[];
}

interface Reasons {
  matchedWords: string[];
  similarity: number | null;
  skills: string[];
}

export interface MatchedSkill {
  id: string;
  name: string;
  score: number;
}

export interface SearchResult {
  tools: FoundTool[];
  /** One for each of `queries`. */
  steps?: FoundStep[];
  matchedSkills: MatchedSkill[];
  metadata: {
    strategyUsed: UsedStrategy;
    serversSearched: number;
    toolsSearched: number;
    externalToolsCount: number;
    parts: string[];
    embeddingModel: string | null;
    warnings: string[];
    totalTimeMs: number;
  };
}

export const defaults = { limit: 10, skillThreshold: 0.4, toolThreshold: 0 };
export const maxSkills = 5;
