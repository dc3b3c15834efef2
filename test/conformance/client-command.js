/** What the client suite starts for a scenario: hands it to the driver and ends as the driver does. */
const [driver, serverUrl] = process.argv.slice(-2);
const { MCP_CONFORMANCE_SCENARIO: name = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const body = JSON.stringify({ name, serverUrl, context: JSON.parse(context) });
const response = await fetch(driver, { method: 'POST', body });
if (!response.ok) {
  console.error(await response.text());
  process.exitCode = 1;
}
