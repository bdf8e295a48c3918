import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Starts one node of Elasticsearch or OpenSearch, of any version, from the jars that Maven has:
 * {@code Start elasticsearch|opensearch HOME PORT [PLUGIN]}. The classes have other names and
 * constructors from version to version, so they are found by reflection.
 */
public class Start {
    public static void main(String[] arguments) throws Exception {
        String base = "org." + arguments[0] + ".";
        String home = arguments[1];
        try {
            Class.forName(base + "common.logging.LogConfigurator").getMethod("configureESLogging").invoke(null);
        } catch (NoSuchMethodException before8) {
            // Loggers need no factory there.
        }
        Object environment = environment(base, home, arguments[2]);
        Class<?> nodeClass = Class.forName(base + "node.Node");
        List<Class<?>> plugins = new ArrayList<>();
        for (int place = 3; place < arguments.length; place++) {
            plugins.add(Class.forName(arguments[place]));
        }
        Object node = plugins.isEmpty()
            ? withModules(base, nodeClass, environment, home)
            : withPlugins(base, nodeClass, environment, plugins);
        nodeClass.getMethod("start").invoke(node);
        Thread.currentThread().join();
    }

    static Object environment(String base, String home, String port) throws Exception {
        Object builder = Class.forName(base + "common.settings.Settings").getMethod("builder").invoke(null);
        Method put = builder.getClass().getMethod("put", String.class, String.class);
        put.invoke(builder, "path.home", home);
        put.invoke(builder, "path.data", home + "/data");
        put.invoke(builder, "cluster.name", "plimsoll");
        put.invoke(builder, "node.name", "one");
        put.invoke(builder, "discovery.type", "single-node");
        put.invoke(builder, "transport.type", "netty4");
        put.invoke(builder, "transport.port", "0");
        put.invoke(builder, "http.type", "netty4");
        put.invoke(builder, "http.port", port);
        put.invoke(builder, "network.host", "127.0.0.1");
        put.invoke(builder, "cluster.routing.allocation.disk.threshold_enabled", "false");
        Object settings = builder.getClass().getMethod("build").invoke(builder);
        Supplier<String> name = () -> "one";
        for (Method method : Class.forName(base + "node.InternalSettingsPreparer").getMethods()) {
            if (method.getName().equals("prepareEnvironment")) {
                return method.invoke(null, settings, new HashMap<String, String>(), Path.of(home, "config"), name);
            }
        }
        throw new IllegalStateException("no way to prepare an environment");
    }

    /** Elasticsearch 7 and OpenSearch: plugins are given as classes, or as what is known of them. */
    static Object withPlugins(String base, Class<?> nodeClass, Object environment, List<Class<?>> plugins)
            throws Exception {
        for (Constructor<?> constructor : nodeClass.getDeclaredConstructors()) {
            Class<?>[] kinds = constructor.getParameterTypes();
            if (kinds.length != 3 || kinds[1] != Collection.class || kinds[2] != boolean.class) {
                continue;
            }
            constructor.setAccessible(true);
            List<Object> given = new ArrayList<>(plugins);
            if (constructor.getGenericParameterTypes()[1].toString().contains("PluginInfo")) {
                given.clear();
                for (Class<?> plugin : plugins) {
                    given.add(info(base, plugin.getName()));
                }
            }
            return constructor.newInstance(environment, given, false);
        }
        throw new IllegalStateException("no way to make a node");
    }

    static Object info(String base, String name) throws Exception {
        Class<?> version = Class.forName(base + "Version");
        return Class.forName(base + "plugins.PluginInfo")
            .getConstructor(String.class, String.class, String.class, version, String.class, String.class,
                String.class, List.class, boolean.class)
            .newInstance(name, "", "1", version.getField("CURRENT").get(null), "17", name, null, List.of(), false);
    }

    /** Elasticsearch 8 and 9: plugins are folders below HOME/modules. */
    static Object withModules(String base, Class<?> nodeClass, Object environment, String home) throws Exception {
        Class<?> environmentClass = Class.forName(base + "env.Environment");
        try {
            return nodeClass.getConstructor(environmentClass).newInstance(environment);
        } catch (NoSuchMethodException since9) {
            Class<?> loader = Class.forName(base + "plugins.PluginsLoader");
            Object modules = loader.getMethod("loadModulesBundles", Path.class).invoke(null, Path.of(home, "modules"));
            Object plugins = loader.getMethod("loadPluginsBundles", Path.class).invoke(null, Path.of(home, "plugins"));
            for (Method method : loader.getMethods()) {
                if (method.getName().equals("createPluginsLoader") && method.getParameterCount() == 3) {
                    Object loaded = method.invoke(null, modules, plugins, Map.of());
                    return nodeClass.getConstructor(environmentClass, loader).newInstance(environment, loaded);
                }
            }
            throw since9;
        }
    }
}
