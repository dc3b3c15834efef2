/** The labels of `../shared/skills/dev.jsonl` were written for the 51 skills of version 0.1.0: what they are called now. */

/** Skills that became part of another one. */
export const mergedSkills: Readonly<Record<string, string>> = {
  project_management: 'issue_tracking',
  memory: 'notes_and_knowledge',
  meetings_and_calls: 'calendar',
  image_generation: 'design_and_3d',
};

interface Relabelled {
  primary: string | null;
  also: string[];
}

/** Tools that one of the new skills is the home of, by id. */
export const relabelled: Readonly<Record<string, Relabelled>> = {
  '@ruixingshi/deepseek-thinker-mcp-1/get-deepseek-thinker': { primary: 'language_models', also: ['reasoning'] },
  '@waldzellai/analogical-reasoning/analogicalReasoning': { primary: 'reasoning', also: ['language_models'] },
  'Pinecone Developer MCP Server/search-docs': {
    primary: 'developer_docs',
    also: ['vector_search', 'notes_and_knowledge', 'code_analysis'],
  },
  '@xinzhongyouhai/mcp-sequentialthinking-tools/sequentialthinking_tools': {
    primary: 'reasoning',
    also: ['language_models'],
  },
  'arjunkmrm/contentful-mcp/get_asset': {
    primary: 'content_management',
    also: ['notes_and_knowledge', 'documents', 'file_management', 'cloud_storage'],
  },
  'Meta Prompt MCP/ready_to_answer': { primary: 'reasoning', also: ['language_models'] },
  'shopify-dev/introspect_admin_schema': { primary: 'api_integration', also: ['ecommerce', 'developer_docs'] },
  'aashari/boilerplate-mcp-server/get-ip-details': { primary: 'networking', also: ['maps_and_location', 'security'] },
  '@waldzellai/clear-thought/mentalmodel': { primary: 'reasoning', also: ['language_models'] },
  'Chargebee Model Context Protocol (MCP) Server/chargebee_documentation_search': {
    primary: 'developer_docs',
    also: ['payments', 'api_integration', 'notes_and_knowledge'],
  },
  'azure-get_azure_bestpractices/get_azure_bestpractices_ai_app': {
    primary: 'cloud_infrastructure',
    also: ['language_models', 'code_analysis', 'developer_docs'],
  },
  'fradser/mcp-server-mas-sequential-thinking/sequentialthinking': { primary: 'reasoning', also: ['language_models'] },
  'webflow-remote/components_update_content': {
    primary: 'content_management',
    also: ['design_and_3d', 'translation_and_text', 'notes_and_knowledge', 'documents'],
  },
  'Daipendency MCP Server/dependency_docs_getter': { primary: 'developer_docs', also: ['code_analysis'] },
  '@DynamicEndpoints/paloalto-mcp-server/multi_move_clone_configuration': {
    primary: 'security',
    also: ['networking', 'cloud_infrastructure'],
  },
  'palolxx/geminimcptest/geminithinking': { primary: 'reasoning', also: ['language_models'] },
  '@ddkang1/mcp-think-tool/get_thoughts': { primary: 'reasoning', also: ['language_models', 'notes_and_knowledge'] },
  'WordPress Code Review MCP Server v2.0/get_guidelines': { primary: 'developer_docs', also: ['code_analysis'] },
  'solana-docs-server MCP Server/get_api_reference': {
    primary: 'developer_docs',
    also: ['blockchain', 'code_analysis', 'api_integration'],
  },
  'Tribal - Knowledge Service/get_api_status': {
    primary: 'server_utilities',
    also: ['monitoring', 'notes_and_knowledge'],
  },
  'Pylon/WhoAmI': { primary: null, also: ['customer_support', 'security', 'server_utilities'] },
  'shell-mcp/shell_whois': { primary: 'networking', also: ['security', 'cloud_infrastructure'] },
  '@Cicatriiz/healthcare-mcp-public/get_all_usage_stats': {
    primary: 'server_utilities',
    also: ['monitoring', 'health'],
  },
  '@intruder-io/intruder-mcp/get_status': { primary: 'server_utilities', also: ['monitoring', 'security'] },
  '@keygray/reference-servers/getTinyImage': { primary: 'server_utilities', also: ['design_and_3d'] },
  '@samihalawa/multiple-model-mcp/version': { primary: 'server_utilities', also: ['language_models'] },
  '@dragon88888888888/ejemplo-mcp/add': { primary: null, also: ['time_and_math', 'server_utilities'] },
  'octomind-dev/octomind-mcp/getVersion': { primary: 'server_utilities', also: ['testing'] },
  'MCP ts-morph Refactoring Tools/test_tool': { primary: 'server_utilities', also: ['code_analysis'] },
  '@CHIBOLAR/jira_mcp_sprinthealth/help': { primary: 'server_utilities', also: ['issue_tracking'] },
  '@Hairy-Lime/tailscale-mcp/get_version': {
    primary: 'server_utilities',
    also: ['networking', 'cloud_infrastructure', 'security'],
  },
  '@mattlemmone/expo-mcp/listTools': { primary: 'server_utilities', also: [] },
};
