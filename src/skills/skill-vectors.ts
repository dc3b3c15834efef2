/**
 * BR-008: a skill's vector is the mean of its tools' vectors, kept as a running sum so that a tool coming or going costs
 * one addition; a skill without tools is its description's vector.
 */
interface SkillVectors {
  /** Adds, changes or (with no skills) removes one tool. */
  setTool(toolId: number, skillIds: string[], vector: Float32Array | null): void;
  removeTool(toolId: number): void;
  setSkill(skillId: string, description: Float32Array): void;
  removeSkill(skillId: string): void;
  vectorOf(skillId: string): Float32Array | undefined;
  toolCount(skillId: string): number;
}

interface SkillVectorSum {
  description: Float32Array;
  sum: Float64Array;
  count: number;
}

export function createSkillVectors(dimensions: number): SkillVectors {
  const skills = new Map<string, SkillVectorSum>();
  const tools = new Map<number, { skillIds: string[]; vector: Float32Array }>();

  function add(skillId: string, vector: Float32Array, sign: 1 | -1): void {
    const entry = skills.get(skillId);
    if (entry === undefined) return;
    entry.count += sign;
    for (let d = 0; d < dimensions; d++) entry.sum[d] = (entry.sum[d] as number) + sign * (vector[d] as number);
  }

  function removeTool(toolId: number): void {
    const known = tools.get(toolId);
    if (known === undefined) return;
    tools.delete(toolId);
    for (const skillId of known.skillIds) add(skillId, known.vector, -1);
  }

  return {
    removeTool,
    setTool: (toolId, skillIds, vector) => {
      removeTool(toolId);
      if (vector === null || skillIds.length === 0) return;
      tools.set(toolId, { skillIds, vector });
      for (const skillId of skillIds) add(skillId, vector, 1);
    },
    setSkill: (skillId, description) => {
      const known = skills.get(skillId);
      if (known !== undefined) {
        known.description = description;
        return;
      }
      skills.set(skillId, { description, sum: new Float64Array(dimensions), count: 0 });
      for (const tool of tools.values()) if (tool.skillIds.includes(skillId)) add(skillId, tool.vector, 1);
    },
    removeSkill: (skillId) => {
      skills.delete(skillId);
    },
    vectorOf: (skillId) => {
      const entry = skills.get(skillId);
      if (entry === undefined) return undefined;
      return entry.count === 0 ? entry.description : unit(entry.sum);
    },
    toolCount: (skillId) => skills.get(skillId)?.count ?? 0,
  };
}

function unit(sum: Float64Array): Float32Array {
  const length = Math.sqrt(sum.reduce((squares, value) => squares + value * value, 0));
  return Float32Array.from(sum, (value) => (length === 0 ? 0 : value / length));
}
