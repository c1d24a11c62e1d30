//! The objects of lambdas and method references. Their classes have one method, which forwards the
//! call. Its frame is between the caller of a lambda and the method that has the lambda's code.

use crate::{FrameId, MethodId, NodeId, Profile, Symbols, names};

impl Profile {
    /// Removes the frames of lambdas' objects from all traces that show the class of the lambda
    /// anyway: where the method below is one of this class or of one inside it. No number moves to
    /// another method: a trace that ends in such a frame keeps it.
    pub fn fold_proxies(&mut self) {
        let symbols = &self.symbols;
        let methods = (0..symbols.method_count()).map(MethodId::new);
        let class_name = |method| symbols.class_name(symbols.get_method(method).class);
        let is_proxy: Vec<bool> =
            methods.map(|method| names::lambda_class(class_name(method)).is_some()).collect();
        if !is_proxy.contains(&true) {
            return;
        }
        let count = self.tree.len();
        let mut shown: Vec<NodeId> = (0..count).map(NodeId::new).collect();
        // The new place of a node's parent.
        let mut above = vec![self.tree.root(); count];
        // A parent's index is below its children's.
        for index in 0..count {
            let node = NodeId::new(index);
            let Some((parent, frame)) = self.tree.parent(node).zip(self.tree.frame(node)) else {
                continue;
            };
            let is_folded = self.tree.frame(parent).is_some_and(|proxy| {
                is_proxy[self.symbols.get_frame(proxy).method.index()]
                    && self.symbols.is_proxy_of(proxy, frame)
            });
            let place = if is_folded { above[parent.index()] } else { shown[parent.index()] };
            above[index] = place;
            if place != parent {
                shown[index] = self.tree.insert_below(place, [frame]);
            }
        }
        self.move_traces(|_, _, trace| shown[trace.node.index()]);
    }
}

impl Symbols {
    /// Whether a frame is that of a proxy of a lambda, and its callee a method of the class that has the lambda, or of
    /// one inside it: the callee stands for both.
    pub fn is_proxy_of(&self, proxy: FrameId, callee: FrameId) -> bool {
        let class = |frame| self.class_name(self.get_method(self.get_frame(frame).method).class);
        let rest =
            names::lambda_class(class(proxy)).and_then(|outer| class(callee).strip_prefix(outer));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceId;
    use crate::fixture::push_samples;

    /// The stacks of samples, outermost frame first.
    fn stacks(profile: &Profile) -> Vec<(String, u64)> {
        let path = |trace: TraceId| {
            let frames = profile.frames(trace).map(|it| profile.symbols.get_frame(it).method);
            let names = frames.map(|method| profile.symbols.method_name(method));
            names.collect::<Vec<_>>().join("<")
        };
        let samples = profile.cpu_samples().flat_map(|it| it.rows);
        samples.map(|(trace, count)| (path(trace), count)).collect()
    }

    #[test]
    fn lambdas_are_called_by_their_callers() {
        let rows = [
            ("a.M.lambda$main$0<a.M$$Lambda.accept<java.L.forEach<a.M.main", 5),
            // The proxy's own time stays its own.
            ("a.M$$Lambda.accept<java.L.forEach<a.M.main", 2),
            // A reference to a method of the same class, or of one inside it.
            ("a.M$In.get<a.M$$Lambda.apply<java.L.map<a.M.main", 3),
            // The class shows in this frame alone.
            ("java.L.sort<a.M$$Lambda.run<java.T.run", 7),
            ("a.Many.sort<a.M$$Lambda.run<java.T.run", 11),
            // Lambdas of lambdas.
            ("a.M.lambda$1<a.M$$Lambda.run<a.M.lambda$0<a.M$$Lambda.run<java.T.run", 13),
            ("a.M.work<a.M.main", 17),
        ];
        let mut profile = Profile::default();
        push_samples(&mut profile, &rows);
        let before = profile.clone();
        profile.fold_proxies();
        assert_eq!(
            stacks(&profile),
            [
                ("a.M.lambda$main$0<java.L.forEach<a.M.main", 5),
                ("a.M$$Lambda.accept<java.L.forEach<a.M.main", 2),
                ("a.M$In.get<java.L.map<a.M.main", 3),
                ("java.L.sort<a.M$$Lambda.run<java.T.run", 7),
                ("a.Many.sort<a.M$$Lambda.run<java.T.run", 11),
                ("a.M.lambda$1<a.M.lambda$0<java.T.run", 13),
                ("a.M.work<a.M.main", 17),
            ]
            .map(|(stack, count)| (stack.to_owned(), count))
        );
        assert_eq!(own(&profile), own(&before));
        let once = stacks(&profile);
        profile.fold_proxies();
        assert_eq!(stacks(&profile), once);
    }

    /// The method on top of each stack, and the number.
    fn own(profile: &Profile) -> Vec<(MethodId, u64)> {
        let top = |trace| profile.frames(trace).next().unwrap();
        let rows = profile.cpu_samples().flat_map(|it| it.rows);
        rows.map(|(trace, count)| (profile.symbols.get_frame(top(trace)).method, count)).collect()
    }

    #[test]
    fn other_profiles_stay_as_they_are() {
        let mut profile = Profile::default();
        push_samples(&mut profile, &[("a.M$Lambda.run<a.M.main", 1), ("a.M.f<a.B$$Lambdas.g", 2)]);
        let count = profile.tree.len();
        let before = stacks(&profile);
        profile.fold_proxies();
        assert_eq!((stacks(&profile), profile.tree.len()), (before, count));
    }
}
