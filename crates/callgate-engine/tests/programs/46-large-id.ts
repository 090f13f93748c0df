const account = await tools.account({});
console.log("account", account.id, typeof account.id);
const outcome = await tools.account_close({ id: account.id });
return { outcome, id: String(account.id), raw: account.id, json: JSON.stringify(account) };
