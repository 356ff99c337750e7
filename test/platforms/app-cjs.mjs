export default async (app, options) => void app.get('/v1/user', async () => ({}))
